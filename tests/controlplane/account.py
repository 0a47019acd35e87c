"""gitbot's identity on the control plane: exactly `deploy/rbac`; and the audit of what it did."""

import itertools
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.kubevirt.installation import put_at
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import eventually

RIGHTS = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
READER, MOVER = "gitbot-reader", "gitbot-mover"
_TOKEN_SECONDS = 24 * 3600
_PATHS = {
    "v1": "/api/v1",
    "rbac.authorization.k8s.io/v1": "/apis/rbac.authorization.k8s.io/v1",
    "admissionregistration.k8s.io/v1": "/apis/admissionregistration.k8s.io/v1",
}
_NEVER_WRITTEN = ("virtualmachines", "virtualmachineinstances")
_READS = ("get", "list", "watch")
Right = tuple[str, str, str]  # verb, API group, resource with its subresource


def rights() -> list[dict[str, Any]]:
    """The objects of `deploy/rbac`, the optional ones too, in the order of its files."""
    found: list[dict[str, Any]] = []
    for file in sorted(RIGHTS.rglob("*.yaml")):
        found += yaml.safe_load_all(file.read_text(encoding="utf-8"))
    return [obj for obj in found if obj["apiVersion"] in _PATHS]


def install(admin: Connection) -> None:
    """Apply `deploy/rbac`, and wait until the authorizer knows of it: a moment later."""
    for obj in rights():
        put_at(admin, _collection(obj), obj)
    eventually(lambda: all(_granted(admin, account) for account in (READER, MOVER)))


def _granted(admin: Connection, account: str) -> bool:
    questions = [
        {
            "verb": verb,
            "group": group,
            "resource": resource.partition("/")[0],
            "subresource": resource.partition("/")[2],
            "name": rule.get("resourceNames", [""])[0],
            "namespace": "gitbot",
        }
        for rule in _rules(account)
        for verb, group, resource in _of(rule)
    ]
    return all(_may(admin, user_of(account), question) for question in questions)


def _may(admin: Connection, user: str, question: Mapping[str, str]) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": dict(question)},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(admin.request("POST", path, review)["status"]["allowed"])


def _collection(obj: Mapping[str, Any]) -> str:
    namespace, kind = obj["metadata"].get("namespace", ""), obj["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{_PATHS[obj['apiVersion']]}{inside}/{plural}"


def user_of(account: str) -> str:
    """The user name of one of gitbot's accounts."""
    return f"system:serviceaccount:gitbot:{account}"


def kubeconfig(plane: ControlPlane, admin: Connection, path: Path, account: str = MOVER) -> Path:
    """A kubeconfig with a token of one of gitbot's accounts."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    folder = "/api/v1/namespaces/gitbot/serviceaccounts"
    token = admin.request("POST", f"{folder}/{account}/token", request)["status"]["token"]
    config = json.loads(plane.kubeconfig().read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    path.touch(mode=0o600)
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def trespasses(plane: ControlPlane) -> list[str]:
    """What gitbot asked for and should not have: outside its rights, or a write to a VM or VMI."""
    found = set()
    for account in (READER, MOVER):
        allowed = set(_allowed(account))
        found |= {_wrong(event, allowed) for event in plane.audit(user=user_of(account))}
    return sorted(found - {""})


def requests(plane: ControlPlane) -> int:
    """How many requests gitbot made."""
    return sum(1 for account in (READER, MOVER) for _ in plane.audit(user=user_of(account)))


def _allowed(account: str) -> Iterator[Right]:
    """The rights that `deploy/rbac` binds to an account."""
    for rule in _rules(account):
        yield from _of(rule)


def _of(rule: Mapping[str, Any]) -> Iterator[Right]:
    return itertools.product(rule["verbs"], rule["apiGroups"], rule["resources"])


def _rules(account: str) -> Iterator[Mapping[str, Any]]:
    objects = rights()
    roles = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"].endswith("Role")}
    for binding in objects:
        subjects = binding.get("subjects", ())
        if not any(subject["name"] == account for subject in subjects):
            continue
        yield from roles[binding["roleRef"]["name"]]["rules"]


def _wrong(event: Mapping[str, Any], allowed: Collection[Right]) -> str:
    about = event.get("objectRef")
    if about is None or event["annotations"].get("authorization.k8s.io/reason", "").startswith(
        'RBAC: allowed by ClusterRoleBinding "system:'
    ):
        return ""  # discovery and versions, which every account may read
    verb, group = event["verb"], about.get("apiGroup", "")
    resource = "/".join(part for part in (about["resource"], about.get("subresource")) if part)
    text = f"{verb} {resource}.{group}"
    if (verb, group, resource) not in allowed:
        return f"{text}: deploy/rbac names no such right"
    if event["annotations"].get("authorization.k8s.io/decision") != "allow":
        return f"{text} {event['requestURI']}: not allowed"
    if verb not in _READS and about["resource"] in _NEVER_WRITTEN:
        return f"{text} {event['requestURI']}: a write to a VM"
    return ""
