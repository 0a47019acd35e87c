"""The operations: one file a subject, one row a path of GitHub's description."""

from __future__ import annotations

from tests.doubles.github.calls import Route
from tests.doubles.github.problems import Problem
from tests.doubles.github.routes import (
    actions,
    apps,
    branches,
    check_runs,
    code_scanning,
    contents,
    git_data,
    issues,
    labels,
    people,
    pulls,
    reviews,
    rulesets,
    settings,
    statuses,
)

ROUTES: tuple[Route, ...] = (
    *actions.ROUTES,
    *apps.ROUTES,
    *branches.ROUTES,
    *check_runs.ROUTES,
    *code_scanning.ROUTES,
    *contents.ROUTES,
    *git_data.ROUTES,
    *issues.ROUTES,
    *labels.ROUTES,
    *people.ROUTES,
    *pulls.ROUTES,
    *reviews.ROUTES,
    *rulesets.ROUTES,
    *settings.ROUTES,
    *statuses.ROUTES,
)


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The row that fits, and its parameters. Raises Problem: 501 for what the double lacks."""
    fitting = [(route, found) for route in ROUTES if (found := route.match(path)) is not None]
    asked = "GET" if method == "HEAD" else method
    here = [(route, found) for route, found in fitting if route.method == asked]
    if here:  # /pulls/comments before /pulls/{pull_number}
        return max(here, key=lambda row: row[0].literal)
    words = "does not answer this method" if fitting else "knows no such operation"
    raise Problem(501, f"the GitHub double {words}: {method} {path}")
