"""How long a live migration is assumed to take, and when it may start.

The assumption, printed with every plan: the guest's memory crosses the network once at the
configured bandwidth, and a fixed time passes for the target pod to start and the hand-over.
Pages that the guest writes meanwhile are not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.model.instants import Interval, intersect, subtract
from gitbot.model.names import NamespacedName
from gitbot.model.problem import PlacementProblem, Request

OVERHEAD_SECONDS = 20
"""Seconds of every migration that do not depend on memory: target pod, set-up, hand-over."""


def estimate(memory: int, bandwidth: int) -> int:
    """Seconds that a migration of `memory` bytes takes at `bandwidth` bytes a second."""
    return -(-memory // max(1, bandwidth)) + OVERHEAD_SECONDS


def allowed_times(
    problem: PlacementProblem, request: Request, vm: NamespacedName
) -> tuple[Interval, ...]:
    """When the request may move the VM from now on: its allowed time minus the VM's freezes."""
    future = (Interval(start=problem.now, end=max(problem.now, _end(request))),)
    frozen = tuple(time for freeze in problem.freezes if vm in freeze.vms for time in freeze.times)
    return subtract(intersect(request.allowed, future), frozen)


def _end(request: Request) -> int:
    return max((interval.end for interval in request.allowed), default=0)


def earliest(times: Iterable[tuple[tuple[Interval, ...], int]], after: int) -> int | None:
    """The first instant from `after` at which all of several migrations may start together.

    Each is given as its allowed times and its seconds; it fits where start and start + seconds
    lie in one interval. None where there is no such instant.
    """
    needs = tuple(times)
    starts = {after}
    for intervals, _ in needs:
        starts |= {interval.start for interval in intervals if interval.start > after}
    for start in sorted(starts):
        if all(_fits(intervals, start, seconds) for intervals, seconds in needs):
            return start
    return None


def _fits(intervals: tuple[Interval, ...], start: int, seconds: int) -> bool:
    return any(
        interval.start <= start and start + seconds <= interval.end for interval in intervals
    )


def first_chance(request: Request, now: int) -> int:
    """The first instant from `now` on at which the request may move anything."""
    return min((max(now, item.start) for item in request.allowed if item.end > now), default=now)
