"""The cluster and clock ports on a simulated cluster, in process.

Requests pass the same validation, admission and dry run as those of the real adapter. Every method
passes through `call`, which can inject faults (see faults).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from gitbot.constraints.scheduler.versions import TAG
from gitbot.errors import ClusterError, NotSent
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of, uid_of
from gitbot.model.caches import RowCache
from gitbot.model.cluster.cluster import KINDS, ClusterSnapshot
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulated_api import WriteOptions
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import version_of
from gitbot.snapshot import belongs, from_sorted, prune

MIGRATION = "VirtualMachineInstanceMigration"
INSTANCE = "VirtualMachineInstance"
HOLD = ("gitbot", "gitbot-hold")
ANCHOR = ("gitbot", "gitbot-ledger")
SYSTEM = "kube-system"
LABEL_PREFIX = "placement.gitbot.dev/"
T = TypeVar("T")


def _cut(kind: str, obj: KubernetesObject) -> KubernetesObject | None:
    """An object as a snapshot holds it, None if it holds none; the store's never change."""
    return prune(kind, obj) if belongs(kind, obj, name_of(obj)) else None


class SimulatedPort:
    """Implements ports.cluster.Cluster and ports.clock.Clock; `sleep` lets virtual time pass."""

    traffic = ClusterTraffic()

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self._cuts: dict[str, RowCache[KubernetesObject | None]] = {}
        self._held: dict[str, tuple[int, Sequence[KubernetesObject]]] = {}

    @property
    def name(self) -> str:
        return self.cluster.name

    def call(self, _verb: str, _what: str, action: Callable[[], T]) -> T:
        """Make one request; faults come in here. `_what` names kind and object."""
        return action()

    # Clock

    def now(self) -> int:
        return self.cluster.now()

    def sleep(self, seconds: int) -> None:
        self.cluster.advance(max(seconds, 0))

    # Reading

    def snapshot(self) -> ClusterSnapshot:
        return self.call("list", "snapshot", self._snapshot)

    def _snapshot(self) -> ClusterSnapshot:
        return from_sorted(
            self.name,
            {kind: self._all(kind) for kind in KINDS if kind in BY_KIND},
            self.now(),
            absent_kinds=[kind for kind in KINDS if kind not in BY_KIND],
            kubernetes_version=TAG,
            resource_version=str(self.cluster.store.version),
        )

    def _all(self, kind: str) -> Sequence[KubernetesObject]:
        """The objects of a kind as a snapshot holds them: identical objects until one changes."""
        store = self.cluster.store
        version, held = self._held.get(kind, (-1, ()))
        if version != store.changed(kind):
            cuts = self._cuts.setdefault(kind, RowCache(partial(_cut, kind)))
            held = tuple(cut for cut in cuts((obj,) for obj in store.all(kind)) if cut is not None)
            self._held[kind] = (store.changed(kind), held)
        return held

    def server_time(self) -> int:
        return self.call("get", "version", self.cluster.now)

    def cluster_uid(self) -> str:
        def read() -> str:
            found = self.cluster.get("Namespace", SYSTEM)
            if found is None:
                raise ClusterError(f"the cluster does not show its namespace {SYSTEM}")
            return str(uid_of(found))

        return self.call("list", f"Namespace {SYSTEM}", read)

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        return self._find(MIGRATION, name)

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return self.call("list", MIGRATION, lambda: self.cluster.list(MIGRATION))

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        return self._find(INSTANCE, name)

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        return self.call("list", f"Event {name}", lambda: self._events(name))

    def _events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        found = [
            event
            for event in self.cluster.list("Event", name.namespace)
            if at(event, "involvedObject", "name") == name.name
            and at(event, "involvedObject", "kind") in (MIGRATION, INSTANCE)
        ]
        by_version = sorted(found, key=version_of)
        return tuple(sorted(by_version, key=lambda event: str(event["firstTimestamp"])))

    def _find(self, kind: str, name: NamespacedName) -> KubernetesObject | None:
        return self.call(
            "get", f"{kind} {name}", lambda: self.cluster.get(kind, name.name, name.namespace)
        )

    # Writing

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        def create() -> KubernetesObject:
            reason = gate()
            if reason:
                raise NotSent(reason)
            asked = WriteOptions(dry_run=dry_run, validation="Strict")
            stored = self.cluster.api.create(migration, asked=asked).object
            self.cluster.engine.run_ready()
            return stored

        return self.call("create", f"{MIGRATION} {name_of(migration)}", create)

    def create_event(self, event: KubernetesObject) -> None:
        def create() -> None:
            try:
                self.cluster.api.create(event)
            except ApiError as refusal:
                if refusal.code != 409:
                    raise

        self.call("create", f"Event {name_of(event)}", create)

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        def delete() -> bool:
            return self._delete(MIGRATION, (name.namespace, name.name), {"uid": uid})

        return self.call("delete", f"{MIGRATION} {name}", delete)

    def _delete(self, kind: str, key: tuple[str, str], wanted: Mapping[str, str]) -> bool:
        try:
            self.cluster.api.delete(kind, key, options={"preconditions": wanted})
        except ApiError as refusal:
            if refusal.code in (404, 409):
                return False
            raise
        self.cluster.engine.run_ready()
        return True

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        self._patch_node(node, labels, {})

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        self._patch_node(node, labels, {"spec": {"unschedulable": unschedulable or None}})
        return True  # the simulation does not know who wrote a field

    def _patch_node(
        self, node: str, labels: Mapping[str, str | None], more: Mapping[str, Any]
    ) -> None:
        foreign = sorted(key for key in labels if not key.startswith(LABEL_PREFIX))
        if foreign:
            raise ClusterError(f"labels {foreign} are not below {LABEL_PREFIX}")
        self._patch("Node", ("", node), {"metadata": {"labels": dict(labels)}, **more})

    def _patch(self, kind: str, key: tuple[str, str], patch: Mapping[str, Any]) -> None:
        def write() -> None:
            self.cluster.api.patch(kind, key, patch)
            self.cluster.engine.run_ready()

        self.call("patch", f"{kind} {key[1]}", write)

    def hold_flag(self) -> str | None:
        found = self._noted(HOLD)
        return None if found is None else found.get("reason", "")

    def flag_and_time(self) -> tuple[str | None, int]:
        return self.hold_flag(), self.server_time()

    def set_hold_flag(self, reason: str | None) -> None:
        self._note(HOLD, None if reason is None else {"reason": reason})

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def ledger_anchors(self) -> Mapping[str, str]:
        return self._noted(ANCHOR) or {}

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        self._note(ANCHOR, {ledger: head})

    def _noted(self, key: tuple[str, str]) -> dict[str, str] | None:
        def read() -> dict[str, str] | None:
            found = self.cluster.store.find("ConfigMap", key)
            return None if found is None else dict(at(found, "data", default={}))

        return self.call("get", f"ConfigMap {key[0]}/{key[1]}", read)

    def _note(self, key: tuple[str, str], data: Mapping[str, str] | None) -> None:
        what = f"ConfigMap {key[1]}"
        if data is None:
            self.call("delete", what, lambda: self._delete("ConfigMap", key, {}))
            return
        metadata = {"namespace": key[0], "name": key[1]}
        noted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        self.call("patch", what, lambda: self.cluster.apply([noted]))
