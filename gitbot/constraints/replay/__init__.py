"""Checks a plan state by state with the constraints' own checks, independently of the planner."""
