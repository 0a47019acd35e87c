"""What Gitea says about reviews, heads and branches, as the values of the port."""

from typing import Any

import pytest

from gitbot.adapters.forges.gitea.decoding import heads_of, pull_of, reviews_of
from gitbot.ports.forge import PullState


def review(state: str, **more: Any) -> dict[str, Any]:
    time = "2026-01-01T01:00:00+01:00"
    plain = {"id": 1, "user": {"login": "bob"}, "state": state, "commit_id": "c1"}
    return {**plain, "submitted_at": time, "official": True, "dismissed": False, **more}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (review("APPROVED"), [(True, True)]),
        (review("APPROVED", official=False), [(True, False)]),
        (review("APPROVED", dismissed=True), [(False, False)]),
        (review("REQUEST_CHANGES"), [(False, False)]),
        (review("COMMENT"), []),
        (review("REQUEST_REVIEW"), []),
        (review("PENDING"), []),
    ],
)
def test_which_reviews_count(said: dict[str, Any], found: list[tuple[bool, bool]]) -> None:
    reviews = reviews_of([said], can_write=lambda _: True)
    assert [(item.approved, item.can_write) for item in reviews] == found
    assert all(item.time == 1_767_225_600 for item in reviews)


def pull(**more: Any) -> dict[str, Any]:
    side = {"ref": "work", "label": "work", "sha": "newest", "repo_id": 1}
    base = {"ref": "main", "sha": "b", "repo_id": 1}
    plain = {"number": 3, "title": "t", "state": "open", "merged": False, "head": side}
    return {**plain, "base": base, **more}


def test_a_later_push_does_not_move_what_was_merged() -> None:
    merged = pull(
        state="closed",
        merged=True,
        merged_at="2026-01-01T00:00:00Z",
        merge_commit_sha="m",
        merged_by={"login": "ann"},
    )
    found = pull_of(merged, kept={3: "as merged"})
    assert (found.head, found.merged_head, found.merge_commit, found.state) == (
        "as merged", "as merged", "m", PullState.MERGED,
    )  # fmt: skip
    assert pull_of(pull(), kept={3: "behind"}).head == "newest"


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ({"ref": "refs/pull/3/head", "label": "work", "sha": "c", "repo_id": 1}, "work"),
        (
            {"ref": "main", "label": "main", "sha": "c", "repo_id": 2,
             "repo": {"owner": {"login": "eve"}}},
            "eve:main",
        ),
        ({"ref": "main", "label": "main", "sha": "c", "repo_id": -1, "repo": None}, "unknown:main"),
    ],
)  # fmt: skip
def test_a_branch_is_named_even_if_it_is_gone(head: dict[str, Any], branch: str) -> None:
    assert pull_of(pull(head=head), kept={}).branch == branch


def test_heads_are_those_of_pull_requests_only() -> None:
    listed = [
        {"ref": "refs/pull/3/head", "object": {"sha": "c3"}},
        {"ref": "refs/pull/3/merge", "object": {"sha": "no"}},
        {"ref": "refs/heads/pull/4/head", "object": {"sha": "no"}},
    ]
    assert heads_of(listed) == {3: "c3"}
    assert heads_of(listed[0]) == {3: "c3"}
