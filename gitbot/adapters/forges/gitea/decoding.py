"""Gitea's pull requests and reviews as the values of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.adapters.forges.rest.answers import instant, login
from gitbot.execution.approval import PullReview
from gitbot.ports.forge import PullRequest, PullState

_VERDICTS = {"APPROVED": True, "REQUEST_CHANGES": False}


def pull_of(value: Any, *, kept: Mapping[int, str]) -> PullRequest:
    """`kept` has the head of each pull request that is not open, by its number.

    For a merged or closed one, Gitea shows the newest commit of a branch of that name: it moves
    with each later push. `refs/pull/N/head` stays where the merge left it.
    """
    head, base, number = value["head"], value["base"], int(value["number"])
    same = head.get("repo_id") == base["repo_id"]
    owner = login((head.get("repo") or {}).get("owner")) if head.get("repo") else "unknown"
    merged_at = instant(value.get("merged_at")) if value.get("merged") else 0
    state = PullState.MERGED if merged_at else PullState(value["state"])
    commit = str(head["sha"]) if state is PullState.OPEN else kept.get(number, str(head["sha"]))
    return PullRequest(
        number=number,
        title=str(value["title"]),
        body=str(value.get("body") or ""),
        author=login(value.get("user")),
        # The label is the branch's name, even if the branch is gone.
        branch=str(head["label"]) if same else f"{owner}:{head['label']}",
        base_branch=str(base["ref"]),
        head=commit,
        state=state,
        labels=tuple(sorted({str(label["name"]) for label in value.get("labels") or ()})),
        merge_commit=str(value.get("merge_commit_sha") or "") if merged_at else "",
        merged_head=commit if merged_at else "",
        merged_by=login(value["merged_by"]) if merged_at and value.get("merged_by") else "",
        merged_at=merged_at,
        created_at=instant(value.get("created_at")),
        closed_at=instant(value.get("closed_at")),
        url=str(value.get("html_url") or ""),
    )


def reviews_of(
    values: Iterable[Any], *, can_write: Callable[[str], bool]
) -> tuple[PullReview, ...]:
    """The reviews that approve or reject, oldest first; a dismissed one approves nothing.

    An approval counts if Gitea calls it official (by the branch's rules when it was given) and if
    the reviewer may write now.
    """
    found = sorted(values, key=lambda value: int(value["id"]))
    return tuple(
        PullReview(
            reviewer=login(value.get("user")),
            approved=_counts(value),
            commit=str(value.get("commit_id") or ""),
            time=instant(value.get("submitted_at")),
            can_write=_counts(value)
            and bool(value.get("official"))
            and can_write(login(value.get("user"))),
        )
        for value in found
        if value.get("state") in _VERDICTS
    )


def _counts(value: Any) -> bool:
    return _VERDICTS[value["state"]] and not value.get("dismissed")


def heads_of(references: Any) -> dict[int, str]:
    """Commit by number of a pull request, from `refs/pull/N/head`."""
    found = {}
    for value in references if isinstance(references, list) else [references]:
        parts = str(value["ref"]).split("/")
        if parts[:2] == ["refs", "pull"] and parts[3:] == ["head"] and parts[2].isdecimal():
            found[int(parts[2])] = str(value["object"]["sha"])
    return found
