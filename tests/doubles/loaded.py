"""A simulated cluster whose nodes were measured; tests say what snapshots carry."""

from dataclasses import replace

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import PERCENT, ClusterLoad, LoadValue
from tests.doubles.timely import TimelyPort


def measured(
    by_node: dict[str, int], *, time: int, metric: str = "cpu", source: str = "Prometheus"
) -> ClusterLoad:
    """One metric of some nodes, in percent."""
    return ClusterLoad(
        values=tuple(
            LoadValue(node=node, metric=metric, amount=amount * PERCENT, time=time, source=source)
            for node, amount in sorted(by_node.items())
        )
    )


class LoadedPort(TimelyPort):
    """`cpu` is what is measured now, in percent by node; None: the source does not answer."""

    cpu: dict[str, int] | None = None
    age: int = 0

    def snapshot(self) -> ClusterSnapshot:
        found = super().snapshot()
        if self.cpu is None:
            return found
        return replace(found, load=measured(self.cpu, time=self.now() - self.age))
