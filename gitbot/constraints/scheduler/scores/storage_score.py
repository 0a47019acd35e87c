"""Scores of storage: nodes with more of it left, for claims that are not bound yet.

Source: kube-scheduler, plugins/volumebinding/volume_binding.go (Score) and scorer.go, with the
default shape (feature gate StorageCapacityScoring).
"""

from __future__ import annotations

import numpy as np

from gitbot.constraints.scheduler.filters.volume_binding import VolumeBinding
from gitbot.constraints.scheduler.filters.volume_matching import (
    Bindings,
    bindings,
    whole_asked,
    whole_size,
)
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.storage import class_of
from gitbot.constraints.scheduler.versions import LATER
from gitbot.kubernetes.objects import Json
from gitbot.kubernetes.quantities import whole
from gitbot.model.cluster.columns import Numbers
from gitbot.model.cluster.pod import Pod

_Sums = dict[str, tuple[int, int]]  # class to bytes asked, and bytes there


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    """The mean share of storage that is left, by class, in percent. None if it is 0 everywhere."""
    unbound = _scored(state, pod)
    if not unbound:
        return None
    storage = state.facts.storage
    found = (bindings(unbound, storage, state.nodes[number]) for number in numbers)
    scores = np.array([_share(_sums(item)) for item in found], dtype=np.int64)
    return scores if scores.any() else None


def concerns(state: State, pod: Pod) -> bool:
    """Whether the score depends on the pod's own claims."""
    return bool(_scored(state, pod))


def _scored(state: State, pod: Pod) -> list[Json]:
    if state.facts.minor < LATER or not pod.claims:
        return []
    return VolumeBinding(state, pod).unbound


def _sums(found: Bindings) -> _Sums:
    sums: _Sums = {}
    for claim, volume in found.matched:
        asked, there = sums.get(class_of(volume), (0, 0))
        sums[class_of(volume)] = asked + whole_asked(claim), there + whole_size(volume)
    if sums:
        return sums  # what is provisioned beside matched volumes does not count
    for claim, capacity in found.provisioned:
        if capacity is not None:
            asked, _ = sums.get(class_of(claim), (0, 0))
            there = whole(capacity.get("capacity") or "0")
            sums[class_of(claim)] = asked + whole_asked(claim), there
    return sums


def _share(sums: _Sums) -> int:
    left = [
        100 - asked * 100 // there if 0 < there >= asked else 0 for asked, there in sums.values()
    ]
    # rounded half up, as math.Round does
    return (2 * sum(left) + len(left)) // (2 * len(left)) if left else 0
