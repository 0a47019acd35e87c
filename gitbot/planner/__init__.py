"""Turns a placement problem into a plan: candidates, choice, repair, waves, bounds, reasons.

This room knows rules and goals, never intents. It asks `constraints` what may start, and reads no
file, clock or network. Most of it is imported at the first question: a pass with nothing to do
plans nothing.
"""

from __future__ import annotations

from typing import Any

from gitbot.constraints.moves.copies import Copies
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.plan import PlacementPlan, PlannerFault
from gitbot.model.plan.problem import Goal, PlacementProblem
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle

__all__ = ["Copies", "PullTitle", "is_answer", "make_plan", "planner_of", "unplanned"]


def make_plan(
    problem: PlacementProblem, *, onlooker: PlanningProgress = NO_PROGRESS
) -> PlacementPlan:
    """As in `gitbot.planner.plan`."""
    from gitbot.planner import plan  # noqa: PLC0415 - as above

    return plan.make_plan(problem, onlooker=onlooker)


def planner_of(goal: Goal) -> GoalPlanner[Any]:
    from gitbot.planner.goals import registry  # noqa: PLC0415 - as above

    return registry.planner_of(goal)


def is_answer(error: Exception) -> bool:
    """As in `gitbot.planner.faults`."""
    from gitbot.planner import faults  # noqa: PLC0415 - as above

    return faults.is_answer(error)


def unplanned(snapshot: ClusterSnapshot, error: Exception) -> PlannerFault:
    """As in `gitbot.planner.faults`."""
    from gitbot.planner import faults  # noqa: PLC0415 - as above

    return faults.unplanned(snapshot, error)
