"""Remedies that a plan proves: a hold offers one only if the plan with it moves the VM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gitbot.model.plan.plan import Hold, OptimalityProof, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, MoveVms, Pin, PlacementProblem
from gitbot.planner.search.budget import SearchBudget

TRIALS = 4
"""Requests of a plan for which a remedy is tried; each takes a whole plan."""

LARGE = 200_000
"""VMs times nodes from which on none is tried."""

_WORDS = {
    "unsafe-landing": (
        "write pin: Node",
        "pin: Node alone does not help",
        "pin: Node may help: that was not searched to its end",
    ),
    "blocked-node": (
        "notMigratable: LeaveRunning empties a node except for such VMs",
        "make a place for it, or change what keeps it there",
        "make a place for it, or change what keeps it there",
    ),
}
"""What a person may do about a hold of this code; what is true if that does not help, and if it is
not known whether it does.
"""


def with_remedies(
    problem: PlacementProblem,
    plan: PlacementPlan,
    make: Callable[[PlacementProblem], PlacementPlan],
    budget: SearchBudget,
) -> PlacementPlan:
    """The plan, in which holds say what a plan has shown to help, or that it does not.

    A plan whose own search was cut tries none.
    """
    size = len(problem.snapshot.of("Node")) * len(problem.snapshot.of("VirtualMachineInstance"))
    few = size < LARGE and plan.bound.proof is not OptimalityProof.CUT
    asking = sorted({hold.request for hold in plan.holds if hold.code in _WORDS} - _whole(problem))
    helped: dict[str, PlacementPlan | None] = {}
    for number, request in enumerate(asking):
        goals = tuple(_eased(g) if g.request.id == request else g for g in problem.goals)
        if goals != problem.goals:
            tried = few and number < TRIALS and not budget.spent()
            helped[request] = make(replace(problem, goals=goals)) if tried else None
    holds = (
        hold if hold.request in _whole(problem) else _told(plan, hold, helped)
        for hold in plan.holds
    )
    return replace(plan, holds=tuple(holds))


def _whole(problem: PlacementProblem) -> frozenset[str]:
    """Drains all of whose nodes go together: their holds know which nodes could go."""
    drains = (goal for goal in problem.goals if isinstance(goal, EmptyNodes))
    return frozenset(goal.request.id for goal in drains if goal.together)


def _eased(goal: Goal) -> Goal:
    match goal:
        case MoveVms():
            return replace(goal, pin=Pin.NODE)
        case EmptyNodes():
            return replace(goal, block=False)
        case _:
            return goal


def _told(plan: PlacementPlan, hold: Hold, helped: dict[str, PlacementPlan | None]) -> Hold:
    words = _WORDS.get(hold.code)
    if words is None:
        return hold
    found = helped.get(hold.request)
    helps, other, unknown = words
    if found is None or not _moves(plan, found, hold):
        whole = found is not None and found.bound.proof is not OptimalityProof.CUT
        helps = other if whole or hold.request not in helped else unknown
    return replace(hold, hint=f"{helps}; {hold.hint}" if hold.hint else helps)


def _moves(plan: PlacementPlan, found: PlacementPlan, hold: Hold) -> bool:
    """Whether the plan that was found moves the VM of the hold, and holds no other VM for it."""
    left = {(item.request, item.vm) for item in found.holds}
    known = {(item.request, item.vm) for item in plan.holds}
    return (hold.request, hold.vm) not in left and left <= known
