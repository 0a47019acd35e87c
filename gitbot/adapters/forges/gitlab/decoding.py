"""GitLab's merge requests, approvals and notes as the values of the port.

Names and shapes: docs.gitlab.com, "Merge requests API", "Merge request approvals API", "Notes API"
and "Commits API".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from gitbot.adapters.forges.rest.answers import comment_of, instant, issue_of, login
from gitbot.execution.approval import PullReview
from gitbot.ports.forge import CheckState, Comment, CommitStatus, Issue, PullRequest, PullState

_APPROVED = "approved this merge request"  # the body of a system note
_STATES = {
    "opened": PullState.OPEN,
    "locked": PullState.OPEN,  # for the seconds of a merge
    "closed": PullState.CLOSED,
    "merged": PullState.MERGED,
}
WORDS = {CheckState.FAILURE: "failed", CheckState.ERROR: "canceled"}
_CHECKS = {
    "success": CheckState.SUCCESS,
    "failed": CheckState.FAILURE,
    "canceled": CheckState.ERROR,
    "canceling": CheckState.ERROR,
    "skipped": CheckState.ERROR,
}  # all others wait or run


def pull_of(value: Any) -> PullRequest:
    """`sha` is the head of the newest version; it stays when the merge request is merged.

    The commit on the base branch is the merge commit, without one the squashed commit, and the
    head itself after a fast-forward.
    """
    state, head = _STATES[value["state"]], str(value["sha"] or "")
    merged = state is PullState.MERGED
    branch, source = str(value["source_branch"]), value.get("source_project_id")
    same = source == value["target_project_id"]
    commit = str(value.get("merge_commit_sha") or value.get("squash_commit_sha") or head)
    by = value.get("merge_user") or value.get("merged_by")
    return PullRequest(
        number=int(value["iid"]),
        title=str(value["title"]),
        body=str(value.get("description") or ""),
        author=login(value.get("author")),
        branch=branch if same else f"{source or 'unknown'}:{branch}",
        base_branch=str(value["target_branch"]),
        head=head,
        state=state,
        labels=tuple(sorted({str(label) for label in value.get("labels") or ()})),
        merge_commit=commit if merged else "",
        merged_head=head if merged else "",
        merged_by=login(by) if merged and by else "",
        merged_at=instant(value.get("merged_at") or value.get("updated_at")) if merged else 0,
        created_at=instant(value.get("created_at")),
        closed_at=instant(value.get("closed_at") or (value.get("merged_at") if merged else None)),
        url=str(value.get("web_url") or ""),
    )


def reviews_of(
    approvals: Iterable[Any],
    *,
    versions: Iterable[Any],
    noted: Mapping[str, str],
    can_write: Callable[[str], bool],
) -> tuple[PullReview, ...]:
    """The approvals, oldest first.

    GitLab keeps the moment of an approval, not its commit. It is for the version that was the
    newest before that moment; at the same moment, for the older one. `noted` has the moment by
    account for servers older than `approved_at`. An approval without a moment is for no commit.
    """
    made = sorted((_moment(item["created_at"]), str(item["head_commit_sha"])) for item in versions)
    found = []
    for approval in approvals:
        account = login(approval.get("user"))
        said = str(approval.get("approved_at") or noted.get(account) or "")
        heads = [head for when, head in made if said and when < _moment(said)]
        found.append(
            PullReview(
                reviewer=account,
                approved=True,
                commit=heads[-1] if heads else "",
                time=instant(said),
                can_write=can_write(account),
            )
        )
    return tuple(sorted(found, key=lambda review: (review.time, review.reviewer)))


def approval_moments(notes: Iterable[Any]) -> dict[str, str]:
    """The newest moment by account, from notes that GitLab writes itself."""
    found: dict[str, str] = {}
    for note in notes:
        if note.get("system") and str(note.get("body")) == _APPROVED:
            account, said = login(note.get("author")), str(note["created_at"])
            if account not in found or _moment(found[account]) < _moment(said):
                found[account] = said
    return found


def _moment(text: str) -> datetime:
    """With its fraction of a second: a push and an approval may share the second."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"no offset in {text!r}")
    return found


def note_of(value: Any) -> Comment:
    return comment_of({**value, "user": value.get("author")})


def dashboard_of(value: Any) -> Issue:
    state = "open" if value["state"] == "opened" else str(value["state"])
    return issue_of(
        {
            **value,
            "number": value["iid"],
            "body": value.get("description"),
            "user": value.get("author"),
            "state": state,
            "html_url": value.get("web_url"),
        }
    )


def commit_status_of(value: Any) -> CommitStatus:
    return CommitStatus(
        context=str(value["name"]),
        state=_CHECKS.get(str(value["status"]), CheckState.PENDING),
        description=str(value.get("description") or ""),
        time=instant(value.get("finished_at") or value.get("created_at")),
        target_url=str(value.get("target_url") or ""),
    )


def without_quick_actions(text: str) -> str:
    """GitLab carries out a line that starts with `/merge` or `/approve`, in gitbot's name.

    A space before it makes it text (docs.gitlab.com, "GitLab quick actions"). Quoted text of other
    people may start so, and a block of code does not protect what our own parser takes for one.
    """
    return re.sub(r"(?m)^/", " /", text)
