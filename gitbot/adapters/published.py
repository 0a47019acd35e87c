"""A cluster that is read only through its published snapshot, and written never."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.errors import ClusterError
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject
from gitbot.ports.clock import Clock

_UNREACHED = "the cluster itself is not reached from here"


class PublishedCluster:
    """The Cluster port of jobs that have no way to the cluster. `read` gives the snapshot.

    The stop flag in the cluster is not seen: what acts asks for it before every effect.
    """

    def __init__(self, name: str, read: Callable[[], ClusterSnapshot], clock: Clock) -> None:
        self.name = name
        self._read = read
        self._clock = clock
        self._snapshot: ClusterSnapshot | None = None

    def snapshot(self) -> ClusterSnapshot:
        """The published snapshot, read once."""
        if self._snapshot is None:
            self._snapshot = self._read()
        return self._snapshot

    def server_time(self) -> int:
        """Our own clock: there is no other."""
        return self._clock.now()

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        """Refused: what a migration does now is not known here."""
        raise ClusterError(f"{_UNREACHED}: {name}")

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        """The migrations of the snapshot."""
        return tuple(self.snapshot().of("VirtualMachineInstanceMigration"))

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        """Refused: what an instance does now is not known here."""
        raise ClusterError(f"{_UNREACHED}: {name}")

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        """None are published."""
        del name
        return ()

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False
    ) -> KubernetesObject:
        """Refused."""
        del migration, dry_run
        raise ClusterError(_UNREACHED)

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        """Refused."""
        del uid
        raise ClusterError(f"{_UNREACHED}: {name}")

    def patch_node_labels(self, node: str, labels: object) -> None:
        """Refused."""
        del labels
        raise ClusterError(f"{_UNREACHED}: {node}")

    def set_unschedulable(self, node: str, unschedulable: bool) -> None:
        """Refused."""
        del unschedulable
        raise ClusterError(f"{_UNREACHED}: {node}")

    def hold_flag(self) -> str | None:
        """Not seen from here."""
        return None

    def set_hold_flag(self, reason: str | None) -> None:
        """Refused."""
        del reason
        raise ClusterError(_UNREACHED)
