"""Refusals of the API server, and whether a response really is from the API server.

A load balancer or proxy before it may respond, too, and knows nothing about objects. A proxy's 404
does not prove that the object is absent, nor does its 403 mean that the API server refused.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from gitbot.adapters.kubernetes.transport import HttpAnswer
from gitbot.errors import ClusterError, ClusterForbidden, ClusterRefused, SnapshotError
from gitbot.kubernetes.objects import at
from gitbot.snapshot import Resource, plain_json


def is_absent(answer: HttpAnswer, name: str) -> bool:
    """Whether the API server itself says that there is no object of that name."""
    said = _object(answer) if answer.status == 404 else {}
    named = at(said, "details", "name") == name
    return named and (said.get("kind"), said.get("reason")) == ("Status", "NotFound")


def is_refusal(answer: HttpAnswer) -> bool:
    """Whether the API server refused; it sends 404 and 429 as plain text, too."""
    if not 400 <= answer.status < 500:
        return False
    return answer.status in (404, 429) or _object(answer).get("kind") == "Status"


def refuse(answer: HttpAnswer, resource: Resource, verb: str) -> NoReturn:
    reason, message = _status(answer)
    what = f"{verb} {resource.plural}{'.' + resource.group if resource.group else ''}"
    if answer.status == 403 and (verb in _READS or _MISSING_RIGHT.match(message)):
        raise ClusterForbidden(
            f"not allowed to {what}: {message}",
            hint=f"grant {resource.rbac_rule(verb)}{_file_of(resource, verb)}",
        )
    if answer.status == 404 and verb == "list":
        raise ClusterError(
            f"the cluster does not serve {resource.kind} ({resource.api_version})",
            hint=_missing_hint(resource),
        )
    if answer.status == 404 and verb in ("get", "delete"):
        raise ClusterError(
            f"cannot {what}: answer 404 without what is absent: {message}",
            hint="see what answers at the API server's address",
        )
    if answer.status == 429 and verb in _READS:
        raise ClusterError(f"cannot {what}: the API server is busy: {message}")
    if 400 <= answer.status < 500:
        raise ClusterRefused(
            f"cannot {what}: {message}", code=answer.status, reason=reason or "Unknown"
        )
    raise ClusterError(f"cannot {what}: answer {answer.status}: {message}")


_FILES = {
    ("virtualmachineinstancemigrations", "create"): "30-mover.yaml",
    ("virtualmachineinstancemigrations", "delete"): "30-mover.yaml",
    ("nodes", "patch"): "optional-cordon",
}
"""The file or component of deploy/rbac that grants a verb; for `list`, it is the reader's."""


def _file_of(resource: Resource, verb: str) -> str:
    name = _FILES.get((resource.plural, verb), "20-reader.yaml" if verb == "list" else "")
    return f" (deploy/rbac/{name})" if name else ""


def refuse_path(answer: HttpAnswer, path: str) -> None:
    """Raise the server's error about a path that every account may read, unless it is 200."""
    if answer.status == 200:
        return
    message = f"cannot read {path}: answer {answer.status}: {_status(answer)[1]}"
    if answer.status == 403:
        hint = "bind ClusterRole system:public-info-viewer and system:discovery to this account"
        raise ClusterForbidden(message, hint=hint)
    raise ClusterError(message)


_READS = frozenset({"get", "list"})
_MISSING_RIGHT = re.compile(
    r'(?:\S+(?: "[^"]*")? is forbidden: )?User "(?:[^"\\]|\\.)*" cannot \S+ resource '
)
"""Words of an authorizer's 403; admission plugins and webhooks use 403, too, with any words.

kubernetes/kubernetes: apiserver/pkg/endpoints/handlers/responsewriters, forbiddenMessage
"""


def _status(answer: HttpAnswer) -> tuple[str, str]:
    status = _object(answer)
    if status:
        return str(status.get("reason") or ""), str(status.get("message") or "no message")
    text = answer.body[:200].decode("utf-8", "replace")
    return "", " ".join(text.split()) or "no message"


def _object(answer: HttpAnswer) -> dict[str, Any]:
    try:
        found = plain_json(answer.body)
    except SnapshotError:
        return {}
    return found if isinstance(found, dict) else {}


def _missing_hint(resource: Resource) -> str:
    if resource.group.endswith("kubevirt.io"):
        return "install KubeVirt, or choose the cluster that has it"
    return "gitbot needs Kubernetes 1.30 or newer"
