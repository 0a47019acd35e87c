"""A node named by the pod itself. Source: kube-scheduler 1.36, plugins/nodename."""

from __future__ import annotations

from gitbot.constraints.state import State
from gitbot.constraints.verdicts import Rejection
from gitbot.model.columns import Mask
from gitbot.model.pod import Pod


class NodeName:
    """spec.nodeName admits one node only."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._wanted = state, pod.node

    def whole(self) -> None:
        """Never."""

    def mask(self) -> Mask:
        """The named node alone."""
        mask = self._state.columns.nowhere()
        if self._wanted in self._state.columns.index:
            mask[self._state.columns.index[self._wanted]] = True
        return mask

    def reject(self, node: int) -> Rejection | None:
        """Any other node."""
        if self._state.nodes[node].name == self._wanted:
            return None
        return Rejection(
            plugin="NodeName",
            reasons=("node(s) didn't match the requested node name",),
            resolvable=False,
            details=(f"the pod names node {self._wanted}",),
        )


def prepare(state: State, pod: Pod) -> NodeName | None:
    """None where the pod names no node."""
    return NodeName(state, pod) if pod.node else None
