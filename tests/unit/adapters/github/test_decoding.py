"""What GitHub says about reviews and branches, as the values of the port."""

from typing import Any

import pytest

from gitbot.adapters.forges.github.decoding import pull_of, reviews_of


def review(state: str, who: str = "bob") -> dict[str, Any]:
    time = "2026-01-01T00:00:00Z"
    return {"user": {"login": who}, "state": state, "commit_id": "c1", "submitted_at": time}


@pytest.mark.parametrize(
    ("states", "approved"),
    [
        (["APPROVED"], [True]),
        (["COMMENTED", "PENDING"], []),
        (["APPROVED", "CHANGES_REQUESTED"], [True, False]),
        (["APPROVED", "DISMISSED"], [True, False]),  # the second one takes back the first one
    ],
)
def test_what_counts_as_a_word_about_approval(states: list[str], approved: list[bool]) -> None:
    found = reviews_of([review(state) for state in states], can_write=lambda _: True)
    assert [item.approved for item in found] == approved
    assert [item.can_write for item in found] == approved


@pytest.mark.parametrize(
    ("repository", "branch"),
    [({"id": 1}, "main"), ({"id": 2}, "eve:main"), (None, "eve:main")],
)
def test_a_branch_of_a_fork_is_not_taken_for_ours(
    repository: dict[str, int] | None, branch: str
) -> None:
    head = {"ref": "main", "sha": "c1", "label": "eve:main", "repo": repository}
    base = {"ref": "main", "repo": {"id": 1}}
    pull = pull_of({"number": 7, "title": "t", "state": "open", "head": head, "base": base})
    assert pull.branch == branch
    assert (pull.merge_commit, pull.merged_head) == ("", "")
