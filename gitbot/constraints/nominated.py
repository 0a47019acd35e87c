"""Pods that preemption made room for and that are not bound yet.

kube-scheduler asks the filters twice about a node that such pods of at least the same priority
wait for: with them there, then without. Source: kube-scheduler 1.36, framework/runtime
(RunFilterPluginsWithNominatedPods).
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.filter import Filter
from gitbot.constraints.inter_pod_affinity import InterPodAffinity
from gitbot.constraints.registry import FILTERS
from gitbot.constraints.state import State
from gitbot.constraints.volume_restrictions import VolumeRestrictions
from gitbot.model.pod import Pod


def crowded(state: State, pod: Pod) -> Iterator[tuple[int, list[Filter]]]:
    """The nodes that others wait for, each with the filters of the first pass on it.

    A plugin that kube-scheduler skips without those pods is not asked with them either.
    """
    waiting: dict[int, list[Pod]] = {}
    for other in state.nominated:
        number = state.columns.index.get(other.nominated)
        placed = other.name == pod.name or other.name in state.placed
        if number is not None and not placed and other.priority >= pod.priority:
            waiting.setdefault(number, []).append(other)
    if not waiting:
        return
    alone = [item for prepare in FILTERS if (item := prepare(state, pod)) is not None]
    skipped = {type(item) for item in alone if _idle(item)}
    for number, pods in sorted(waiting.items()):
        together = state.fork()
        for other in pods:
            together.add(other, other.nominated)
        together.late = frozenset(other.name for other in pods)
        prepared = (prepare(together, pod) for prepare in FILTERS)
        yield number, [item for item in prepared if item is not None and type(item) not in skipped]


def _idle(item: Filter) -> bool:
    return isinstance(item, InterPodAffinity | VolumeRestrictions) and item.idle
