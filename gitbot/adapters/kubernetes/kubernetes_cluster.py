"""KubernetesCluster: the cluster port on a real API server.

No request of this file writes to a VirtualMachine or a VirtualMachineInstance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.adapters.kubernetes.api_refusals import is_absent, is_refusal, refuse, refuse_path
from gitbot.adapters.kubernetes.cluster_diagnosis import ClusterQuestions
from gitbot.adapters.kubernetes.cluster_view import SYSTEM, SYSTEM_ALONE, system_uid
from gitbot.adapters.kubernetes.snapshot_reader import list_all, read_cluster
from gitbot.adapters.kubernetes.transport import HttpAnswer, Transport
from gitbot.errors import Bug, ClusterError, ClusterForbidden, OutcomeUnknown, SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of, uid_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate
from gitbot.ports.load import LoadSource
from gitbot.snapshot import (
    EVENTS,
    HOLD_NAME,
    RESOURCES,
    KindReader,
    Resource,
    decode_object,
    plain_json,
)

LABEL_PREFIX = "placement.gitbot.dev/"
ANCHOR_NAME = NamespacedName(namespace="gitbot", name="gitbot-ledger")
_MIGRATIONS = RESOURCES["VirtualMachineInstanceMigration"]
_INSTANCES = RESOURCES["VirtualMachineInstance"]
_NODES = RESOURCES["Node"]
_NAMESPACES = RESOURCES["Namespace"]
_CONFIG_MAPS = RESOURCES["ConfigMap"]
_MERGE = "application/merge-patch+json"
_MANAGER = "gitbot"
_STRICT = {"fieldValidation": "Strict", "fieldManager": _MANAGER}


class KubernetesCluster:
    """Implements ports.cluster.Cluster. Without `name`, the context's name is used.

    The constructor reads kubeconfig and the environment; it raises ClusterError if they contain no
    cluster.
    """

    def __init__(
        self,
        *,
        context: str = "",
        kubeconfig: str = "",
        name: str = "",
        transport: Transport | None = None,
        load: LoadSource | None = None,
    ) -> None:
        self._transport = transport or Transport(kubeconfig=kubeconfig, context=context)
        self._load = load
        self.name = name or self._transport.context

    # Reading

    def close(self) -> None:
        self._transport.close()

    @property
    def traffic(self) -> ClusterTraffic:
        return self._transport.traffic

    def snapshot(self) -> ClusterSnapshot:
        found = read_cluster(self._transport, self.name)
        return found if self._load is None else found.with_load(self._load.read(found))

    def server_time(self) -> int:
        answer = self._transport.read("/version")
        refuse_path(answer, "/version")  # a proxy before the server has its own clock
        return answer.date

    def cluster_uid(self) -> str:
        # a list of one, which needs no right beyond those of a snapshot
        answer = self._transport.read(_NAMESPACES.path(), SYSTEM_ALONE)
        if answer.status != 200:
            refuse(answer, _NAMESPACES, "list")
        found = KindReader(_NAMESPACES.kind)
        found.add(answer.body)
        if not (uid := system_uid(found.rows())):
            raise ClusterError(
                f"the cluster does not show its namespace {SYSTEM}",
                hint="see what answers at the API server's address",
            )
        return uid

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        return self._get(_MIGRATIONS, name)

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return list_all(self._transport, _MIGRATIONS)

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        return self._get(_INSTANCES, name)

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        answer = self._transport.read(
            EVENTS.path(namespace=name.namespace),
            {"fieldSelector": f"involvedObject.name={name.name}", "limit": "500"},
        )
        if answer.status != 200:
            try:
                refuse(answer, EVENTS, "list")
            except ClusterForbidden:
                return ()
        about = {_MIGRATIONS.kind, _INSTANCES.kind}
        events = KindReader(EVENTS.kind)
        events.add(answer.body)
        found = (event for event in events.rows() if at(event, "involvedObject", "kind") in about)
        return tuple(sorted(found, key=_event_order))

    def hold_flag(self) -> str | None:
        return self.flag_and_time()[0]

    def flag_and_time(self) -> tuple[str | None, int]:
        found, answer = self._noted(HOLD_NAME)
        return None if found is None else found.get("reason", ""), answer.date

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        return ClusterQuestions(self._transport).missing(group, namespace)

    def ledger_anchors(self) -> Mapping[str, str]:
        return self._noted(ANCHOR_NAME)[0] or {}

    def _noted(self, name: NamespacedName) -> tuple[dict[str, str] | None, HttpAnswer]:
        found, answer = self._read(_CONFIG_MAPS, name)
        return None if found is None else dict(at(found, "data", default={})), answer

    def _get(self, resource: Resource, name: NamespacedName) -> KubernetesObject | None:
        return self._read(resource, name)[0]

    def _read(
        self, resource: Resource, name: NamespacedName
    ) -> tuple[KubernetesObject | None, HttpAnswer]:
        """The object, None if there is none, and what the API server answered."""
        path = resource.path(namespace=name.namespace, name=name.name)
        answer = self._transport.read(path)
        if is_absent(answer, name.name):
            return None, answer
        if answer.status != 200:
            refuse(answer, resource, "get")
        return decode_object(resource.kind, answer.body), answer

    # Writing

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        if migration.get("kind") != _MIGRATIONS.kind:
            raise Bug(f"BUG: create_migration with a {migration.get('kind')}")
        name = name_of(migration)
        answer = self._transport.write(
            "POST",
            _MIGRATIONS.path(namespace=name.namespace),
            _plain(migration),
            query=_STRICT | ({"dryRun": "All"} if dry_run else {}),
            gate=gate,
        )
        if answer.status >= 300:
            if not is_refusal(answer):
                raise OutcomeUnknown(
                    f"VMIM {name}: answer {answer.status}, and not by the API server",
                    hint="see what answers at the API server's address",
                )
            refuse(answer, _MIGRATIONS, "create")
        return _stored(answer, name)

    def create_event(self, event: KubernetesObject) -> None:
        path = EVENTS.path(namespace=name_of(event).namespace)
        answer = self._write("POST", path, _plain(event))
        if answer.status not in (200, 201, 409):
            refuse(answer, EVENTS, "create")

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        return self._delete(_MIGRATIONS, name, {"preconditions": {"uid": uid}})

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        self._patch_node(node, labels, {})

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        theirs = not unschedulable and self._is_cordoned_by_others(node)
        change = {} if theirs else {"spec": {"unschedulable": unschedulable or None}}
        self._patch_node(node, labels, change)
        return not theirs

    def _is_cordoned_by_others(self, node: str) -> bool:
        """Whether the API server's managedFields show that only other writers set the cordon.

        After a person uncordons and cordons a node again, gitbot's labels are still there; and a
        person may be faster than gitbot's own patch, which then changes nothing but labels.
        https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
        """
        answer = self._transport.read(_NODES.path(), {"fieldSelector": f"metadata.name={node}"})
        if answer.status != 200:
            refuse(answer, _NODES, "list")
        try:
            owners = {
                entry.get("manager")
                for item in plain_json(answer.body)["items"]
                for entry in at(item, "metadata", "managedFields", default=[])
                if "f:unschedulable" in at(entry, "fieldsV1", "f:spec", default={})
            }
        except (SnapshotError, AttributeError, LookupError, TypeError) as error:
            raise ClusterError(f"the answer about node {node} is damaged: {error}") from error
        return bool(owners) and _MANAGER not in owners

    def set_hold_flag(self, reason: str | None) -> None:
        if reason is None:
            self._delete(_CONFIG_MAPS, HOLD_NAME, {})
        else:
            self._note(HOLD_NAME, {"reason": reason}, "the stop flag")

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        self._note(ANCHOR_NAME, {ledger: head}, "the ledger's anchor")

    def _note(self, name: NamespacedName, noted: Mapping[str, str], what: str) -> None:
        """Write one of gitbot's own ConfigMaps."""
        path = _CONFIG_MAPS.path(namespace=name.namespace, name=name.name)
        data: dict[str, Any] = {"data": dict(noted)}
        answer = self._write("PATCH", path, data, _MERGE)
        if answer.status == 404:
            metadata = {"namespace": name.namespace, "name": name.name}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **data}
            answer = self._write("POST", _CONFIG_MAPS.path(namespace=name.namespace), made)
            if answer.status == 404:
                raise ClusterError(
                    f"there is no namespace {name.namespace} for {what}",
                    hint="make it with deploy/rbac/, or at once: kubectl create namespace gitbot",
                )
            if answer.status not in (200, 201):
                refuse(answer, _CONFIG_MAPS, "create")
        elif answer.status != 200:
            refuse(answer, _CONFIG_MAPS, "patch")

    def _patch_node(
        self, node: str, labels: Mapping[str, str | None], more: Mapping[str, Any]
    ) -> None:
        foreign = sorted(key for key in labels if not key.startswith(LABEL_PREFIX))
        if foreign:
            raise Bug(f"BUG: labels {foreign} are not below {LABEL_PREFIX}")
        patch = {"metadata": {"labels": dict(labels)}, **more}
        answer = self._write("PATCH", _NODES.path(name=node), patch, _MERGE)
        if answer.status != 200:
            refuse(answer, _NODES, "patch")

    def _delete(self, resource: Resource, name: NamespacedName, options: Mapping[str, Any]) -> bool:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        path = resource.path(namespace=name.namespace, name=name.name)
        answer = self._transport.write("DELETE", path, body)
        if answer.status == 409 or is_absent(answer, name.name):  # another object, or deleted
            return False
        if answer.status not in (200, 202):
            refuse(answer, resource, "delete")
        return True

    def _write(
        self, method: str, path: str, body: Mapping[str, Any], kind: str = "application/json"
    ) -> HttpAnswer:
        return self._transport.write(method, path, body, query=_STRICT, content_type=kind)


def _stored(answer: HttpAnswer, name: NamespacedName) -> KubernetesObject:
    try:
        stored = decode_object(_MIGRATIONS.kind, answer.body)
    except SnapshotError as error:
        raise OutcomeUnknown(
            f"VMIM {name} was accepted, but the answer is damaged: {error}",
            hint="read the object before anything else",
        ) from error
    if not name_of(stored).name or not uid_of(stored):
        raise OutcomeUnknown(
            f"VMIM {name} was accepted, but the response does not contain it",
            hint="read the object before anything else",
        )
    return stored


def _event_order(event: KubernetesObject) -> tuple[str, NamespacedName]:
    time = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return str(time or ""), name_of(event)


def _plain(value: Any) -> Any:
    """Plain dicts and lists, which the client encodes as JSON."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
