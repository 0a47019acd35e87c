"""Which workflow an event starts: GitHub's rules, as a function of event and file.

Sources: GitHub docs, "Events that trigger workflows" and "Automatic token authentication".
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from tests.doubles.github.actions.files import WorkflowFile
from tests.doubles.github.events import Event
from tests.doubles.github.state import JSON
from tests.doubles.github.storage import NOBODY

# What a GITHUB_TOKEN does starts nothing, with these two exceptions.
_BY_JOBS = ("workflow_dispatch", "repository_dispatch")
_TYPES = {
    "pull_request": ("opened", "synchronize", "reopened"),
    "pull_request_target": ("opened", "synchronize", "reopened"),
    "merge_group": ("checks_requested",),
}
LONGEST_CHAIN = 3  # workflow_run events that lead to one another
# These run the file of the default branch, whatever they are about.
ON_DEFAULT_BRANCH = (
    "issue_comment",
    "issues",
    "pull_request_target",
    "repository_dispatch",
    "schedule",
    "workflow_run",
)


def may_start(event: Event) -> bool:
    """Whether an event starts anything at all."""
    return not event.by_job or event.name in _BY_JOBS


def starts(event: Event, file: WorkflowFile) -> bool:
    """Whether an event starts a workflow."""
    filters = file.on.get(event.name)
    if filters is None or not may_start(event):
        return False
    types = filters.get("types") or _TYPES.get(event.name, ())
    if isinstance(types, str):
        types = (types,)
    if types and event.action and event.action not in types:
        return False
    match event.name:
        case "push":
            return event.sha != NOBODY and _of_branch(filters, event.ref)
        case "pull_request" | "pull_request_target":
            base = event.payload["pull_request"]["base"]["ref"]
            mergeable = event.name != "pull_request" or event.payload.get("mergeable", True)
            return bool(mergeable) and _fits(filters, f"{base}")
        case "merge_group":
            return _fits(
                filters, str(event.payload["merge_group"]["base_ref"]).removeprefix("refs/heads/")
            )
        case "workflow_run":
            run = event.payload["workflow_run"]
            return run["name"] in filters.get("workflows", ()) and _fits(
                filters, run["head_branch"]
            )
        case "schedule":
            rows = filters.get("cron") or ()
            return event.payload.get("schedule") in [row["cron"] for row in rows]
    return True


def _of_branch(filters: JSON, ref: str) -> bool:
    if ref.startswith("refs/tags/"):
        if "tags" in filters:
            return _one_of(filters["tags"], ref.removeprefix("refs/tags/"))
        return "branches" not in filters
    if "tags" in filters and "branches" not in filters:
        return False
    return _fits(filters, ref.removeprefix("refs/heads/"))


def _fits(filters: JSON, branch: str) -> bool:
    if "branches" in filters and not _one_of(filters["branches"], branch):
        return False
    return not ("branches-ignore" in filters and _one_of(filters["branches-ignore"], branch))


def _one_of(patterns: list[str] | str, name: str) -> bool:
    rows = [patterns] if isinstance(patterns, str) else patterns
    found = False
    for pattern in rows:  # a later one that begins with ! takes back
        if pattern.startswith("!"):
            found = found and not fnmatchcase(name, pattern[1:])
        else:
            found = found or fnmatchcase(name, pattern)
    return found
