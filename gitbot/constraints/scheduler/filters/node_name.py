"""A node that the pod itself names."""

from __future__ import annotations

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod


class NodeName(Filter):
    """spec.nodeName admits one node only."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._wanted = state, pod.node

    def mask(self) -> Mask:
        mask = self._state.columns.nowhere()
        if self._wanted in self._state.columns.index:
            mask[self._state.columns.index[self._wanted]] = True
        return mask

    def reject(self, node: int) -> Rejection | None:
        if self._state.nodes[node].name == self._wanted:
            return None
        return Rejection(
            plugin="NodeName",
            reasons=("node(s) didn't match the requested node name",),
            details=(f"the pod names node {self._wanted}",),
        )


def prepare(state: State, pod: Pod) -> NodeName | None:
    return NodeName(state, pod) if pod.node else None
