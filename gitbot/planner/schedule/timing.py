"""When a request may move a VM."""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.problem import PlacementProblem, Request
from gitbot.model.text.instants import Interval, intersect, subtract


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
