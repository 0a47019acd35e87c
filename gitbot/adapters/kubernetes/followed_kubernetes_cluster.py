"""FollowedKubernetesCluster: the port for a process that looks again and again."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.adapters.clock import seconds_counted
from gitbot.adapters.kubernetes.cluster_view import ClusterView
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.snapshot_reader import UNFINISHED, list_all
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.adapters.kubernetes.unfinished_migrations import unfinished_migrations
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.cluster import ClusterTraffic
from gitbot.ports.load import LoadSource
from gitbot.snapshot import RESOURCES

_PODS = RESOURCES["Pod"]
_NODES = RESOURCES["Node"]


class FollowedKubernetesCluster(KubernetesCluster):
    """Implements ports.cluster.FollowedCluster. Close it: it has a stream for each kind.

    They begin `at_once`, with the first list, or with the second look.
    """

    def __init__(
        self,
        *,
        name: str,
        transport: Transport,
        streaming: Transport,
        load: LoadSource | None = None,
        say: Callable[[str], None],
        clock: Callable[[], float] = seconds_counted,
        at_once: bool = True,
    ) -> None:
        super().__init__(name=name, transport=transport, load=load)
        self._streaming = streaming
        self._view = ClusterView(
            self.name, transport, streaming, say=say, clock=clock, at_once=at_once
        )

    def close(self) -> None:
        self._view.close()
        super().close()

    @property
    def traffic(self) -> ClusterTraffic:
        return super().traffic + self._streaming.traffic

    def snapshot(self) -> ClusterSnapshot:
        found = self._view.look()
        return found if self._load is None else found.with_load(self._load.read(found))

    def cluster_uid(self) -> str:
        return self._view.uid() or super().cluster_uid()

    def get_node(self, node: str) -> KubernetesObject | None:
        found = list_all(self._transport, _NODES, {"fieldSelector": f"metadata.name={node}"})
        return found[0] if found else None

    def pods_on(self, node: str) -> tuple[KubernetesObject, ...]:
        wanted = f"{UNFINISHED},spec.nodeName={node}"
        return list_all(self._transport, _PODS, {"fieldSelector": wanted})

    def unfinished_migrations(self) -> tuple[tuple[str, str], ...]:
        return unfinished_migrations(self._transport)

    def migrations_seen(self) -> tuple[KubernetesObject, ...] | None:
        rows = self._view.rows("VirtualMachineInstanceMigration")
        return None if rows is None else tuple(rows)

    def require(self, seconds: int) -> None:
        self._view.require(seconds)

    def distrust(self, kind: str) -> None:
        self._view.distrust(kind)
