"""How long a live migration is assumed to take, and when it may start.

Every plan prints the assumption: the guest's memory crosses the network once at the configured
bandwidth, plus a fixed time for the start of the target pod and the hand-over. It ignores pages
that the guest writes meanwhile.
"""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.instants import Interval, intersect, subtract
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


def first_chance(request: Request, now: int) -> int:
    """The first instant from `now` on at which the request may move anything."""
    return min((max(now, item.start) for item in request.allowed if item.end > now), default=now)
