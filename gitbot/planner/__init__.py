"""From a placement problem to a plan: candidates, choice, repair, waves, bounds, reasons.

Knows rules and goals, never intents. Asks `constraints` what may start; reads no file, clock or
network.
"""

from gitbot.planner.make import make_plan

__all__ = ["make_plan"]
