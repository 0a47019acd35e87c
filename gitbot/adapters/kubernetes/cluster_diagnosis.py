"""An account's rights in a cluster, and the features of the cluster's KubeVirt: for doctor.

It only reads: SelfSubjectAccessReviews, which every account may create about itself, and the
OpenAPI document of kubevirt.io, which every account may read. It creates nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import ClusterError, ClusterForbidden, SnapshotError
from gitbot.snapshot import EVENTS, HOLD_NAME, LISTED, RESOURCES, plain_json

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_ROLES_OF_PEOPLE = ("admin", "edit")
_OPENAPI = "/openapi/v3/apis/kubevirt.io/v1"
_MIGRATION = "VirtualMachineInstanceMigration"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Right:
    """A verb on a resource; `namespace` "" means all of them, `name` "" all objects."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{where}"


READ = (
    *(Right(group=each.group, resource=each.plural, verb="list") for each in LISTED if each.needed),
    Right(group=EVENTS.group, resource=EVENTS.plural, verb="list"),
    *(
        Right(group="kubevirt.io", resource=RESOURCES[kind].plural, verb="get")
        for kind in ("VirtualMachineInstance", _MIGRATION)
    ),
)
_POLICIES = RESOURCES["MigrationPolicy"]
ESTIMATE = (Right(group=_POLICIES.group, resource=_POLICIES.plural, verb="list"),)
WATCH = tuple(
    Right(group=each.group, resource=each.plural, verb="watch") for each in LISTED if each.needed
)
STOP_FLAG = Right(
    group="",
    resource="configmaps",
    verb="get",
    namespace=HOLD_NAME.namespace,
    name=HOLD_NAME.name,
)
MOVE = tuple(
    Right(group="kubevirt.io", resource=RESOURCES[_MIGRATION].plural, verb=verb)
    for verb in ("create", "delete")
)
MIGRATE_VM = Right(
    group="subresources.kubevirt.io", resource="virtualmachines/migrate", verb="update"
)
EVICT = Right(group="", resource="pods/eviction", verb="create")
PATCH_NODES = Right(group="", resource="nodes", verb="patch")
NEVER_USED = (
    Right(group="", resource="secrets", verb="get"),
    Right(group="", resource="secrets", verb="list"),
    Right(group="", resource="namespaces", verb="patch"),
    Right(group="", resource="pods", verb="delete"),
    Right(group="kubevirt.io", resource="virtualmachineinstances", verb="patch"),
    Right(group="kubevirt.io", resource="virtualmachineinstances", verb="delete"),
    Right(group="kubevirt.io", resource="virtualmachines", verb="patch"),
    Right(group="kubevirt.io", resource="virtualmachines", verb="update"),
)
"""Rights that gitbot never uses: an account that has them has too many."""


GROUPS: dict[str, tuple[Right, ...]] = {
    "read": READ,
    "estimate": ESTIMATE,
    "watch": WATCH,
    "stop-flag": (STOP_FLAG,),
    "move": MOVE,
    "nodes": (PATCH_NODES,),
}


_WHO_GIVES_REVIEWS = (
    "everybody may ask by default: a cluster administrator (who may bind cluster roles) binds "
    "ClusterRole system:basic-user to group system:authenticated again"
)


class ClusterQuestions:
    """Questions about one cluster. Every method raises ClusterError without an answer."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        """The rights of a group (a key of GROUPS) that the account lacks.

        With a namespace, those of a RoleBinding there suffice.
        """
        rights = (replace(right, namespace=namespace or right.namespace) for right in GROUPS[group])
        return tuple(str(right) for right in rights if not self._may(right))

    def excess(self) -> tuple[str, ...]:
        return tuple(str(right) for right in NEVER_USED if self._may(right))

    def migrating_roles(self) -> tuple[str, ...]:
        """The roles that people get in namespaces (admin, edit) and that may create migrations.

        KubeVirt gives that right by ClusterRole kubevirt.io:migrate alone, which a label adds to
        these; before 1.5 it gave it by kubevirt.io:admin and kubevirt.io:edit
        (pkg/virt-operator/resource/generate/rbac). `virtctl migrate` uses the subresource, for
        which virt-api creates the migration.
        """
        return self._granting(MOVE[0], MIGRATE_VM)

    def evicting_roles(self) -> tuple[str, ...]:
        """Those that may evict pods: KubeVirt answers that of a launcher pod with a migration."""
        return self._granting(EVICT)

    def _granting(self, *rights: Right) -> tuple[str, ...]:
        """The roles of people that grant one of these rights."""
        return tuple(name for name in _ROLES_OF_PEOPLE if self._grants(name, rights))

    def _grants(self, role: str, rights: Iterable[Right]) -> bool:
        answer = self._transport.read(f"{_CLUSTER_ROLES}/{role}")
        if answer.status == 403:
            raise ClusterForbidden(f"the account may not read ClusterRole {role}")
        if answer.status not in (200, 404):
            raise ClusterError(f"ClusterRole {role} cannot be read: {answer.status}")
        rules = _object(answer.body).get("rules")
        return any(
            {right.group, "*"}.intersection(rule.get("apiGroups") or ())
            and {right.resource, f"*/{right.resource.partition('/')[2]}", "*"}.intersection(
                rule.get("resources") or ()
            )
            and {right.verb, "*"}.intersection(rule.get("verbs") or ())
            for rule in (rules if answer.status == 200 and isinstance(rules, list) else ())
            for right in rights
        )

    def _may(self, right: Right) -> bool:
        attributes = {
            "group": right.group,
            "resource": right.resource,
            "verb": right.verb,
            "namespace": right.namespace,
            "name": right.name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: text for key, text in attributes.items() if text}},
        }
        answer = self._transport.write("POST", _REVIEWS, review)
        status = _object(answer.body).get("status")
        if answer.status not in (200, 201) or not isinstance(status, dict):
            said = _object(answer.body).get("message") or "no message"
            message = f"the cluster does not say whether the account may {right}: {answer.status}"
            if answer.status == 403:
                raise ClusterForbidden(f"{message}: {said}", hint=_WHO_GIVES_REVIEWS)
            raise ClusterError(message, hint="kubectl auth can-i --list shows what it may")
        return status.get("allowed") is True

    def pins(self) -> bool:
        """Whether migrations of this KubeVirt have `spec.addedNodeSelector` (1.6 and newer)."""
        answer = self._transport.read(_OPENAPI)
        schemas = _object(answer.body).get("components", {}).get("schemas", {})
        found = [
            schema
            for name, schema in schemas.items()
            if name == _MIGRATION or name.endswith(f".{_MIGRATION}")
        ]
        if answer.status != 200 or not found:
            raise ClusterError(f"the cluster does not describe {_MIGRATION}: {answer.status}")
        return any("addedNodeSelector" in json.dumps(schema) for schema in found)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = plain_json(body)
    except SnapshotError:
        return {}
    return value if isinstance(value, dict) else {}
