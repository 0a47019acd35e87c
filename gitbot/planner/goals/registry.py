"""The goals that the planner knows. A new goal is a file here, its value in the model, a line."""

from __future__ import annotations

from typing import Any

from gitbot.model.plan.problem import Goal
from gitbot.planner.goals import drain, heal, home, move
from gitbot.planner.goals.goal_planner import GoalPlanner

GOALS: dict[type[Goal], GoalPlanner[Any]] = {
    planner.goal: planner for planner in (move.PLANNER, drain.PLANNER, heal.PLANNER, home.PLANNER)
}


def planner_of(goal: Goal) -> GoalPlanner[Any]:
    return GOALS[type(goal)]
