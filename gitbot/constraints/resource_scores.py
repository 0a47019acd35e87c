"""Scores by requests. Source: kube-scheduler 1.36, plugins/noderesources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gitbot.constraints.state import CPU_SCORED, MEMORY_SCORED, State
from gitbot.model.columns import Numbers
from gitbot.model.pod import Pod


def least_allocated(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """The mean of what stays free of cpu and memory, in percent; never skipped.

    Containers without a request count 100m and 200Mi here. Pod-level requests are not looked at:
    the scorer is built without that feature in 1.36.
    """
    return _mean_share(state, pod, numbers, free=True)


def most_allocated(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """The mean of what is used of cpu and memory, in percent: the strategy that packs."""
    return _mean_share(state, pod, numbers, free=False)


def _mean_share(state: State, pod: Pod, numbers: Numbers, *, free: bool) -> Numbers:
    total = np.zeros(len(numbers), dtype=np.int64)
    weights = np.zeros(len(numbers), dtype=np.int64)
    for resource, column, asked in (
        ("cpu", CPU_SCORED, pod.requests.scored_cpu),
        ("memory", MEMORY_SCORED, pod.requests.scored_memory),
    ):
        capacity = state.columns.allocatable(resource)[numbers]
        requested = np.minimum(state.column(column)[numbers] + asked, capacity)
        known = capacity > 0
        amount = capacity - requested if free else requested
        total += np.where(known, amount * 100 // np.maximum(capacity, 1), 0)
        weights += known
    result: Numbers = total // np.maximum(weights, 1)
    return result


def balanced_allocation(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    """How much evener cpu and memory are used with the pod than without; 75 for no change.

    Skipped for a pod that requests neither.
    """
    asked = {name: pod.requests.filtered.get(name, 0) for name in ("cpu", "memory")}
    if not any(asked.values()):
        return None
    change = _balance(state, asked, numbers) - _balance(state, {}, numbers) + 50
    half = np.where(change >= 0, change // 2, -(-change // 2))  # Go divides towards zero
    result: Numbers = 50 + half
    return result


def _balance(state: State, asked: dict[str, int], numbers: Numbers) -> Numbers:
    parts: list[NDArray[np.float64]] = []
    known: list[NDArray[np.bool_]] = []
    for resource in ("cpu", "memory"):
        capacity = state.columns.allocatable(resource)[numbers]
        requested = state.column(resource)[numbers] + asked.get(resource, 0)
        known.append(capacity > 0)
        parts.append(np.minimum(requested / np.maximum(capacity, 1), 1.0))
    both = known[0] & known[1]
    deviation = np.where(both, np.abs(parts[0] - parts[1]) / 2, 0.0)
    result: Numbers = ((1 - deviation) * 100).astype(np.int64)
    return result
