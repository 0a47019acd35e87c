"""Scores of topology spread."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from math import floor

import numpy as np
from numpy.typing import NDArray

from gitbot.constraints.scheduler.filters.topology_spread import counted, included, labelled
from gitbot.constraints.scheduler.node_state import State
from gitbot.kubernetes.selectors import LabelMatcher, Requirement
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, ZONE, SpreadConstraint


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    """ScheduleAnyway constraints, or the system's defaults if the pod has no constraints.

    With the defaults, nodes without a key take part, and count as one more domain.
    """
    own = bool(pod.spread)
    soft = tuple(item for item in pod.spread if not item.hard) if own else _defaults(state, pod)
    if not soft:
        return None
    complete = labelled(state, soft) if own else state.columns.everywhere()
    scored = numbers[complete[numbers]]
    totals = np.zeros(len(state.columns), dtype=np.float64)
    for constraint in soft:
        totals += _part(state, pod, constraint, scored, complete)
    raw = np.array([floor(totals[number] + 0.5) for number in scored], dtype=np.int64)
    result = np.zeros(len(numbers), dtype=np.int64)
    if len(raw):
        top, least = int(raw.max()), int(raw.min())
        normal = 100 * (top + least - raw) // top if top else np.full(len(raw), 100)
        result[complete[numbers]] = normal
    return result


def concerns(state: State, pod: Pod) -> bool:
    """Whether the score of a node depends on where other pods are."""
    return bool(pod.spread or _defaults(state, pod))


def _part(
    state: State, pod: Pod, constraint: SpreadConstraint, scored: Numbers, complete: Mask
) -> NDArray[np.float64]:
    """The share of one constraint for every node, shape (nodes,); 0 if the node lacks the key."""
    column = state.columns.label(constraint.topology_key)
    places = counted(state, pod, constraint)
    if constraint.topology_key == HOSTNAME:
        size = len(scored)
        counts = np.bincount(places, minlength=len(state.columns))
    else:
        size = len(np.unique(column.ids[scored]))
        mask = complete & included(state, pod, constraint)
        kept = column.ids[places[mask[places]]]
        table = np.bincount(kept + 1, minlength=len(column.values) + 1)
        counts = table[column.ids + 1]
    share = counts * _log(size + 2) + (constraint.max_skew - 1)
    return np.where(column.ids >= 0, share, 0.0)


@cache
def _log(number: int) -> float:
    """Natural logarithm, correctly rounded; the last bit of `math.log` depends on the C library."""
    return float(Decimal(number).ln())


def _defaults(state: State, pod: Pod) -> tuple[SpreadConstraint, ...]:
    selector = default_selector(state, pod)
    if not selector.requirements:
        return ()
    return tuple(
        SpreadConstraint(topology_key=key, max_skew=skew, hard=False, selector=selector)
        for key, skew in ((HOSTNAME, 3), (ZONE, 5))
    )


def default_selector(state: State, pod: Pod) -> LabelMatcher:
    """What the pod's Services, and its ReplicaSet, RC or StatefulSet, select."""
    found: set[Requirement] = set()
    for selector in state.facts.services.get(pod.namespace, ()):
        if selector.matches(pod.labels):
            found.update(selector.requirements)
    owner = state.facts.owners.get((pod.owner[0], pod.namespace, pod.owner[1]))
    if owner is not None:
        if pod.owner[0] == "ReplicationController":  # its pairs replace those of Services
            keys = {requirement.key for requirement in owner.requirements}
            found = {requirement for requirement in found if requirement.key not in keys}
        found.update(owner.requirements)
    return LabelMatcher(requirements=tuple(sorted(found)))
