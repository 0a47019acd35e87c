"""Waves: how a schedule is shown. Moves that run together, in the order of their starts."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.planner.schedule.schedule import Timed


def waves_of(timed: Sequence[Timed]) -> tuple[tuple[Timed, ...], ...]:
    """All moves of a wave are in flight at one instant; the first that is not begins the next wave.

    So no move waits for another move of its wave, and together they keep every limit.
    """
    waves: list[tuple[Timed, ...]] = []
    for item in timed:
        if waves and item.starts < min(each.ends for each in waves[-1]):
            waves[-1] = (*waves[-1], item)
        else:
            waves.append((item,))
    return tuple(waves)
