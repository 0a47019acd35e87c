"""GitHub's JSON to the frozen values of the port.

By hand, not through PyGithub's objects: in PyGithub 2.10.0 a user, label or repository inside an
answer asks GitHub for a field that it lacks, even if the object around it is complete; a missing
number becomes None instead of an error; the code is as long, and sixteen times as slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitbot.adapters.forges.rest.answers import instant, login
from gitbot.execution.approval import PullReview
from gitbot.ports.forge import CheckRun, CheckState, PullRequest, PullState

# A reviewer's last verdict counts; a comment is not a verdict.
_WORDS = {"APPROVED": True, "CHANGES_REQUESTED": False, "DISMISSED": False}
_CONCLUSIONS = {
    "success": CheckState.SUCCESS,
    "neutral": CheckState.SUCCESS,
    "skipped": CheckState.SUCCESS,
    "failure": CheckState.FAILURE,
}


def pull_of(value: Any) -> PullRequest:
    """A pull request in an answer about one or several (then without `merged_by`).

    The branch of another repository is `owner:name`, so it cannot be mistaken for ours.
    """
    head, base = value["head"], value["base"]
    same = bool(head.get("repo")) and head["repo"]["id"] == base["repo"]["id"]
    merged_at = instant(value.get("merged_at"))
    state = PullState.MERGED if merged_at else PullState(value["state"])
    return PullRequest(
        number=int(value["number"]),
        title=str(value["title"]),
        body=str(value.get("body") or ""),
        author=login(value.get("user")),
        branch=str(head["ref"]) if same else str(head.get("label") or f"unknown:{head['ref']}"),
        base_branch=str(base["ref"]),
        head=str(head["sha"]),
        state=state,
        labels=tuple(sorted(str(label["name"]) for label in value.get("labels") or ())),
        # Before the merge, this is only GitHub's trial merge.
        merge_commit=str(value.get("merge_commit_sha") or "") if merged_at else "",
        merged_head=str(head["sha"]) if merged_at else "",
        merged_by=login(value["merged_by"]) if merged_at and value.get("merged_by") else "",
        merged_at=merged_at,
        created_at=instant(value.get("created_at")),
        closed_at=instant(value.get("closed_at")),
        url=str(value.get("html_url") or ""),
    )


def reviews_of(values: list[Any], *, can_write: Callable[[str], bool]) -> tuple[PullReview, ...]:
    """The reviews that approve or reject, oldest first. `can_write` is for approvals only."""
    return tuple(
        PullReview(
            reviewer=login(value.get("user")),
            approved=_WORDS[value["state"]],
            commit=str(value.get("commit_id") or ""),
            time=instant(value.get("submitted_at")),
            can_write=_WORDS[value["state"]] and can_write(login(value.get("user"))),
        )
        for value in values
        if value.get("state") in _WORDS
    )


def check_of(value: Any) -> CheckRun:
    output = value.get("output") or {}
    return CheckRun(
        name=str(value["name"]),
        state=check_state(value),
        title=str(output.get("title") or ""),
        summary=str(output.get("summary") or ""),
        text=str(output.get("text") or ""),
        url=str(value.get("details_url") or ""),
        time=instant(value.get("completed_at") or value.get("started_at")),
    )


def check_state(value: Any) -> CheckState:
    """The state of a check run; an undecided end (stale, timed out, cancelled) is an error."""
    if value.get("status") != "completed":
        return CheckState.PENDING
    return _CONCLUSIONS.get(str(value.get("conclusion")), CheckState.ERROR)
