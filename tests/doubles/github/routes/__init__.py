"""The operations: one file a subject, one function a path of GitHub's description."""

from tests.doubles.github.calls import ROUTES, find_route
from tests.doubles.github.routes import actions, branches, checks, issues, people, pulls

__all__ = [
    "ROUTES", "actions", "branches", "checks", "find_route", "issues", "people", "pulls",
]  # fmt: skip
