"""Scores by requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gitbot.constraints.scheduler.node_state import CPU_SCORED, MEMORY_SCORED, State
from gitbot.model.cluster.columns import Numbers
from gitbot.model.cluster.pod import Pod


def least_allocated(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """The mean of free cpu and memory, in percent. Never skipped.

    Containers without a request count 100m and 200Mi here. Pod-level requests are ignored: 1.36
    builds the scorer without that feature.
    """
    return _mean_share(state, pod, numbers, free=True)


def most_allocated(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """The mean of used cpu and memory, in percent: the bin-packing strategy."""
    return _mean_share(state, pod, numbers, free=False)


def _mean_share(state: State, pod: Pod, numbers: Numbers, *, free: bool) -> Numbers:
    asked = (pod.requests.scored_cpu, pod.requests.scored_memory)
    key = ("share", free, *asked)
    every = state.fits.kept(key, lambda some: _share(state, pod, some, free=free))
    result: Numbers = every[numbers]
    return result


def _share(state: State, pod: Pod, numbers: Any, *, free: bool) -> Numbers:
    total: Any = 0
    for resource, column, asked in (
        ("cpu", CPU_SCORED, pod.requests.scored_cpu),
        ("memory", MEMORY_SCORED, pod.requests.scored_memory),
    ):
        capacity = state.columns.allocatable(resource)[numbers]
        requested = np.minimum(state.column(column)[numbers] + asked, capacity)
        amount = capacity - requested if free else requested  # 0 if unknown
        total = total + amount * 100 // state.columns.divisor(resource)[numbers]
    result: Numbers = total // state.columns.divisor("cpu", "memory")[numbers]
    return result


def balanced_allocation(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    """How much the pod balances the use of cpu and memory; 75 for no change.

    None for a pod that requests neither.
    """
    asked = {name: pod.requests.filtered.get(name, 0) for name in ("cpu", "memory")}
    if not any(asked.values()):
        return None

    result: Numbers = state.fits.kept(
        ("balance", *asked.values()), lambda some: _balanced(state, asked, some)
    )[numbers]
    return result


def _balanced(state: State, asked: dict[str, int], numbers: Any) -> Numbers:
    change = _balance(state, asked, numbers) - _balance(state, {}, numbers) + 50
    half: Numbers = np.where(change >= 0, change // 2, -(-change // 2))  # Go: towards zero
    return 50 + half


def allocated(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """`least_allocated` and `balanced_allocation` together, each with weight 1."""
    held = pod.requests
    asked = {name: held.filtered.get(name, 0) for name in ("cpu", "memory")}

    def both(some: Any) -> Numbers:
        share = _share(state, pod, some, free=True)
        return share + _balanced(state, asked, some) if any(asked.values()) else share

    key = ("allocated", held.scored_cpu, held.scored_memory, *asked.values())
    result: Numbers = state.fits.kept(key, both)[numbers]
    return result


def _balance(state: State, asked: dict[str, int], numbers: Any) -> Numbers:
    parts: list[NDArray[np.float64]] = []
    for resource in ("cpu", "memory"):
        requested = state.column(resource)[numbers] + asked.get(resource, 0)
        parts.append(np.minimum(requested / state.columns.divisor(resource)[numbers], 1.0))
    deviation = np.abs(parts[0] - parts[1]) / 2
    deviation[state.columns.divisor("cpu", "memory")[numbers] < 2] = 0.0  # one is unknown
    result: Numbers = ((1 - deviation) * 100).astype(np.int64)
    return result
