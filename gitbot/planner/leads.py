"""Drains that are to be ready by the start of their window: when their moves begin.

A first plan, in which the moves may begin MOST_LEAD before the start, says how long they take. The
second one begins that long before the start, with a margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gitbot.model.grouping import grouped
from gitbot.model.plan.lead import needed_lead, step_down
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, PlacementProblem
from gitbot.model.text.instants import Interval, subtract


def ready_by_start(
    problem: PlacementProblem, make: Callable[[PlacementProblem], PlacementPlan]
) -> PlacementPlan:
    """The plan of a problem; drains with `ready_by` begin early enough, and the plan says when.

    A drain that does not get ready in its own time, because of what else moves then, begins as
    early as it may. So each round but the last gives one more drain all of its time.
    """
    plan = make(problem)
    begins = {goal.request.id: _begin(problem, goal, plan) for goal in _drains(problem)}
    while any(at > problem.now for at in begins.values()):
        plan = make(problem.beginning(begins))
        late = {
            goal.request.id: goal.request.allowed[0].start
            for goal in _drains(problem)
            if begins[goal.request.id] > max(problem.now, goal.request.allowed[0].start)
            and _ends(goal, plan) > goal.ready_by
        }
        if not late:
            break
        begins = {**begins, **late}
    drains = (replace(each, begins=begins.get(each.request)) for each in plan.drains)
    return replace(plan, drains=tuple(drains)) if begins else plan


def _drains(problem: PlacementProblem) -> Iterator[EmptyNodes]:
    return (goal for goal in problem.goals if isinstance(goal, EmptyNodes) and goal.ready_by)


def _first(goal: EmptyNodes, plan: PlacementPlan) -> Sequence[Move]:
    """The moves off the nodes that leave service first; others wait until these are back."""
    moves = grouped((move.group, move) for move in plan.moves if move.request == goal.request.id)
    groups = sorted(moves.values(), key=lambda some: min(move.starts for move in some))
    few = len(groups) if goal.together else goal.max_nodes_at_once or len(groups)
    return [move for some in groups[:few] for move in some]


def _ends(goal: EmptyNodes, plan: PlacementPlan) -> int:
    return max((move.starts + move.estimated_seconds for move in _first(goal, plan)), default=0)


def _begin(problem: PlacementProblem, goal: EmptyNodes, plan: PlacementPlan) -> int:
    """The latest instant with enough time until `ready_by` in which nothing is frozen."""
    moves = _first(goal, plan)
    begun = min((move.starts for move in moves), default=0)
    vms = {move.vm.namespaced_name for move in moves}
    frozen = tuple(time for item in problem.freezes if item.vms & vms for time in item.times)
    lead = (Interval(start=goal.request.allowed[0].start, end=goal.ready_by),)
    left = needed_lead(_ends(goal, plan) - begun if moves else 0)
    for time in reversed(subtract(lead, frozen)):
        if time.end - time.start >= left:
            return max(time.start, step_down(time.end - left))
        left -= time.end - time.start
    return lead[0].start
