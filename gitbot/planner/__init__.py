"""Turns a placement problem into a plan: candidates, choice, repair, waves, bounds, reasons.

This room knows rules and goals, never intents. It asks `constraints` what may start, and reads no
file, clock or network.
"""

from gitbot.constraints.moves.copies import Copies
from gitbot.planner.faults import is_answer, unplanned
from gitbot.planner.goals.goal_planner import PullTitle
from gitbot.planner.goals.registry import planner_of
from gitbot.planner.plan import make_plan

__all__ = ["Copies", "PullTitle", "is_answer", "make_plan", "planner_of", "unplanned"]
