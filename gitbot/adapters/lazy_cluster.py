"""A cluster that is opened on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.cluster import Cluster, ClusterTraffic, FollowedCluster, Gate, no_gate

C = TypeVar("C", bound=Cluster)


class LazyCluster(Generic[C]):
    """Implements ports.cluster.Cluster with the cluster that `opener` connects to.

    The first call raises ClusterError if kubeconfig and context do not lead to a cluster.
    """

    def __init__(self, name: str, opener: Callable[[], C]) -> None:
        self.name = name
        self._opener = opener
        self._opened: C | None = None

    def _cluster(self) -> C:
        if self._opened is None:
            self._opened = self._opener()
        return self._opened

    def close(self) -> None:
        """Close the connections of the cluster, if it was opened and has any."""
        close = getattr(self._opened, "close", None)
        if close is not None:
            close()

    @property
    def traffic(self) -> ClusterTraffic:
        return ClusterTraffic() if self._opened is None else self._opened.traffic

    def snapshot(self) -> ClusterSnapshot:
        return self._cluster().snapshot()

    def server_time(self) -> int:
        return self._cluster().server_time()

    def cluster_uid(self) -> str:
        return self._cluster().cluster_uid()

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        return self._cluster().get_migration(name)

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return self._cluster().list_migrations()

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        return self._cluster().get_instance(name)

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        return self._cluster().list_events(name)

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        return self._cluster().create_migration(migration, dry_run=dry_run, gate=gate)

    def create_event(self, event: KubernetesObject) -> None:
        self._cluster().create_event(event)

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        return self._cluster().delete_migration(name, uid=uid)

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        self._cluster().patch_node_labels(node, labels)

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        return self._cluster().set_unschedulable(node, unschedulable, labels)

    def hold_flag(self) -> str | None:
        return self._cluster().hold_flag()

    def flag_and_time(self) -> tuple[str | None, int]:
        return self._cluster().flag_and_time()

    def set_hold_flag(self, reason: str | None) -> None:
        self._cluster().set_hold_flag(reason)

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        return self._cluster().missing(group, namespace)

    def ledger_anchors(self) -> Mapping[str, str]:
        return self._cluster().ledger_anchors()

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        self._cluster().set_ledger_anchor(ledger, head)


class LazyFollowedCluster(LazyCluster[FollowedCluster]):
    """Implements ports.cluster.FollowedCluster in the same way."""

    def get_node(self, node: str) -> KubernetesObject | None:
        return self._cluster().get_node(node)

    def pods_on(self, node: str) -> tuple[KubernetesObject, ...]:
        return self._cluster().pods_on(node)

    def unfinished_migrations(self) -> tuple[tuple[str, str], ...]:
        return self._cluster().unfinished_migrations()

    def migrations_seen(self) -> tuple[KubernetesObject, ...] | None:
        return self._cluster().migrations_seen()

    def require(self, seconds: int) -> None:
        self._cluster().require(seconds)

    def distrust(self, kind: str) -> None:
        self._cluster().distrust(kind)
