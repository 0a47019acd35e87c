"""A cluster known only from its published snapshot. It refuses writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitbot.errors import ClusterError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate

_UNREACHED = "the cluster itself is not reached from here"


class PublishedCluster:
    """The Cluster port for jobs without access to the cluster. `read` returns the snapshot.

    `missing` answers what the account lacks that published it.

    It does not see the stop flag in the cluster. The job that acts checks the flag before every
    effect.
    """

    traffic = ClusterTraffic()

    def __init__(
        self,
        name: str,
        read: Callable[[], ClusterSnapshot],
        clock: Clock,
        missing: Callable[[str, str], tuple[str, ...]] | None = None,
    ) -> None:
        self.name = name
        self._read = read
        self._missing = missing
        self._clock = clock
        self._snapshot: ClusterSnapshot | None = None

    def snapshot(self) -> ClusterSnapshot:
        if self._snapshot is None:
            self._snapshot = self._read()
        return self._snapshot

    def server_time(self) -> int:
        return self._clock.now()

    def cluster_uid(self) -> str:
        return ""

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        raise ClusterError(f"{_UNREACHED}: {name}")

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return tuple(self.snapshot().of("VirtualMachineInstanceMigration"))

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        raise ClusterError(f"{_UNREACHED}: {name}")

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        return ()

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        raise ClusterError(_UNREACHED)

    def create_event(self, event: KubernetesObject) -> None:
        raise ClusterError(_UNREACHED)

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        raise ClusterError(f"{_UNREACHED}: {name}")

    def patch_node_labels(self, node: str, labels: object) -> None:
        raise ClusterError(f"{_UNREACHED}: {node}")

    def set_unschedulable(self, node: str, unschedulable: bool, labels: object) -> bool:
        raise ClusterError(f"{_UNREACHED}: {node}")

    def hold_flag(self) -> str | None:
        return None

    def flag_and_time(self) -> tuple[str | None, int]:
        return None, self.server_time()

    def set_hold_flag(self, reason: str | None) -> None:
        raise ClusterError(_UNREACHED)

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        if self._missing is None:
            raise ClusterError(_UNREACHED)
        return self._missing(group, namespace)

    def ledger_anchors(self) -> Mapping[str, str]:
        return {}

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        raise ClusterError(_UNREACHED)
