"""Taints and tolerations. Source: kube-scheduler 1.36, plugins/tainttoleration."""

from __future__ import annotations

import numpy as np

from gitbot.constraints.scorer import default_normalise
from gitbot.constraints.state import State
from gitbot.constraints.verdicts import Rejection
from gitbot.model.columns import Mask, Numbers
from gitbot.model.node import Node
from gitbot.model.pod import Pod
from gitbot.model.scheduling import Taint

_FILTERED = frozenset({"NoSchedule", "NoExecute"})


def untolerated(pod: Pod, node: Node) -> tuple[Taint, ...]:
    """The NoSchedule and NoExecute taints of a node that the pod does not tolerate."""
    return tuple(
        taint for taint in node.taints if taint.effect in _FILTERED and not _tolerated(pod, taint)
    )


def _tolerated(pod: Pod, taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in pod.tolerations)


def hard_taints_tolerated(state: State, pod: Pod) -> Mask:
    """The nodes without an untolerated hard taint; asks once a distinct set of taints."""
    mask = state.columns.everywhere()
    for numbers in state.columns.tainted.values():
        if untolerated(pod, state.nodes[numbers[0]]):
            mask[list(numbers)] = False
    return mask


class Taints:
    """Every NoSchedule and NoExecute taint needs a toleration; PreferNoSchedule only scores."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    def whole(self) -> None:
        """Never."""

    def mask(self) -> Mask:
        """Nodes all of whose hard taints are tolerated."""
        return hard_taints_tolerated(self._state, self._pod)

    def reject(self, node: int) -> Rejection | None:
        """A node with a taint that the pod does not tolerate."""
        found = untolerated(self._pod, self._state.nodes[node])
        if not found:
            return None
        return Rejection(
            plugin="TaintToleration",
            reasons=("node(s) had untolerated taint(s)",),
            resolvable=False,
            details=tuple(
                f"the node has taint {taint}, which the pod does not tolerate" for taint in found
            ),
        )


def prepare(state: State, pod: Pod) -> Taints | None:
    """None where no node is tainted."""
    return Taints(state, pod) if state.columns.tainted else None


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """Untolerated PreferNoSchedule taints, fewest first; never skipped."""
    tolerations = [item for item in pod.tolerations if item.effect in ("", "PreferNoSchedule")]
    counts = [
        sum(
            taint.effect == "PreferNoSchedule"
            and not any(item.tolerates(taint) for item in tolerations)
            for taint in state.nodes[number].taints
        )
        for number in numbers
    ]
    return default_normalise(np.array(counts, dtype=np.int64), reverse=True)
