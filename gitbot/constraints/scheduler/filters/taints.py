"""Taints and tolerations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter, default_normalise
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import Taint, Toleration

_FILTERED = frozenset({"NoSchedule", "NoExecute"})


def untolerated(tolerations: Iterable[Toleration], node: Node) -> tuple[Taint, ...]:
    hard = (taint for taint in node.taints if taint.effect in _FILTERED)
    return tuple(taint for taint in hard if not any(it.tolerates(taint) for it in tolerations))


def hard_taints_tolerated(state: State, pod: Pod) -> Mask:
    """The nodes without an untolerated hard taint. Checks each distinct set of taints once."""
    mask = state.columns.everywhere()
    for numbers in state.columns.tainted.values():
        if untolerated(pod.tolerations, state.nodes[numbers[0]]):
            mask[list(numbers)] = False
    return mask


class Taints(Filter):
    """Every NoSchedule and NoExecute taint needs a toleration; PreferNoSchedule only scores."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    def mask(self) -> Mask:
        return hard_taints_tolerated(self._state, self._pod)

    def reject(self, node: int) -> Rejection | None:
        found = untolerated(self._pod.tolerations, self._state.nodes[node])
        if not found:
            return None
        return Rejection(
            plugin="TaintToleration",
            reasons=("node(s) had untolerated taint(s)",),
            details=tuple(
                f"the node has taint {taint}, which the pod does not tolerate" for taint in found
            ),
        )


def prepare(state: State, pod: Pod) -> Taints | None:
    return Taints(state, pod) if state.columns.tainted else None


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """Untolerated PreferNoSchedule taints, fewest first. Never skipped."""
    if not state.columns.tainted:
        return np.full(len(numbers), 100, dtype=np.int64)
    tolerations = [item for item in pod.tolerations if item.effect in ("", "PreferNoSchedule")]
    counts = np.zeros(len(state.columns), dtype=np.int64)
    for taints, tainted in state.columns.tainted.items():
        counts[tainted] = sum(
            taint.effect == "PreferNoSchedule"
            and not any(item.tolerates(taint) for item in tolerations)
            for taint in taints
        )
    return default_normalise(counts[numbers], reverse=True)
