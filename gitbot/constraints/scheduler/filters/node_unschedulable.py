"""Cordoned nodes."""

from __future__ import annotations

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.labels import UNSCHEDULABLE
from gitbot.model.caches import IdentityCache
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import Taint

_TAINT = Taint(key=UNSCHEDULABLE, effect="NoSchedule")
BY_THEN = "the node will be cordoned by then (drain.cordon: Gitbot)"


def _rejection(details: str) -> Rejection:
    return Rejection(
        plugin="NodeUnschedulable",
        reasons=("node(s) were unschedulable",),
        details=(details,),
    )


_NOW = _rejection("the node is cordoned (spec.unschedulable)")
_LATER = _rejection(BY_THEN)


class NodeUnschedulable(Filter):
    """spec.unschedulable rejects unless the pod tolerates the taint that a cordon adds."""

    def __init__(self, state: State) -> None:
        self._state = state

    def mask(self) -> Mask:
        return ~self._state.unschedulable

    def reject(self, node: int) -> Rejection | None:
        if not self._state.unschedulable[node]:
            return None
        return _NOW if self._state.nodes[node].unschedulable else _LATER


def prepare(state: State, pod: Pod) -> NodeUnschedulable | None:
    """None if the pod tolerates cordons: a blanket toleration opens cordoned nodes."""
    return None if _tolerated(pod.tolerations) else NodeUnschedulable(state)


_tolerated = IdentityCache[bool](
    lambda tolerations: any(item.tolerates(_TAINT) for item in tolerations), most=10_000
)
