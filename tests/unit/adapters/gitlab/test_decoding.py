"""What GitLab's answers mean: merged commits, heads of approvals, and text that is no command."""

import pytest

from gitbot.adapters.forges.gitlab.decoding import (
    approval_moments,
    commit_status_of,
    pull_of,
    reviews_of,
    without_quick_actions,
)
from gitbot.ports.forge import CheckState, PullState

HEAD, MERGE, SQUASHED = "a" * 40, "b" * 40, "c" * 40
BOB = {"username": "bob"}


def value(**more: object) -> dict[str, object]:
    return {
        "iid": 7, "title": "t", "description": None, "state": "merged", "sha": HEAD,
        "source_branch": "work", "target_branch": "main", "source_project_id": 3,
        "target_project_id": 3, "author": {"username": "ann"}, "merge_user": BOB,
        "merged_at": "2026-11-21T15:00:00.250Z", "created_at": "2026-11-21T14:00:00.000Z",
        "merge_commit_sha": None, "squash_commit_sha": None, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "commit"),
    [
        ({"merge_commit_sha": MERGE}, MERGE),  # a merge commit, or semi-linear
        ({"merge_commit_sha": MERGE, "squash_commit_sha": SQUASHED}, MERGE),
        ({"squash_commit_sha": SQUASHED}, SQUASHED),  # squashed, then a fast-forward
        ({}, HEAD),  # a fast-forward
    ],
)
def test_the_commit_on_the_base_branch(more: dict[str, object], commit: str) -> None:
    pull = pull_of(value(**more))
    assert (pull.state, pull.merge_commit, pull.merged_head) == (PullState.MERGED, commit, HEAD)
    assert (pull.merged_by, pull.number) == ("bob", 7)
    assert pull.merged_at == 1795273200


def test_an_open_one_has_no_merge() -> None:
    pull = pull_of(value(state="opened", merge_user=None, merged_at=None))
    assert (pull.state, pull.merge_commit, pull.merged_by, pull.merged_at) == (
        PullState.OPEN, "", "", 0,
    )  # fmt: skip
    assert pull_of(value(state="locked")).state is PullState.OPEN


@pytest.mark.parametrize(("source", "branch"), [(3, "work"), (9, "9:work"), (None, "unknown:work")])
def test_the_branch_of_a_fork_is_not_ours(source: int | None, branch: str) -> None:
    assert pull_of(value(source_project_id=source)).branch == branch


@pytest.mark.parametrize(
    ("said", "commit"),
    [
        ("2026-11-21T15:00:00.100Z", "1"),
        ("2026-11-21T15:00:00.499Z", "1"),  # the same second as the push, but before it
        ("2026-11-21T15:00:00.500Z", "1"),  # the same moment: the older head
        ("2026-11-21T15:00:00.501Z", "2"),
        ("2026-11-21T16:00:00.499+01:00", "1"),
        ("2026-11-21T14:00:00.000Z", ""),  # before any version
        ("", ""),
    ],
)
def test_an_approval_is_for_the_newest_version_before_it(said: str, commit: str) -> None:
    versions = [
        {"head_commit_sha": "2", "created_at": "2026-11-21T15:00:00.500Z"},
        {"head_commit_sha": "1", "created_at": "2026-11-21T14:30:00.000Z"},
    ]
    for approval, noted in (
        ({"user": BOB, "approved_at": said}, {}),
        ({"user": BOB}, {"bob": said} if said else {}),  # an older server: its notes have it
    ):
        (review,) = reviews_of(
            [approval], versions=versions, noted=noted, can_write=lambda name: name == "bob"
        )
        assert (review.reviewer, review.commit, review.can_write) == ("bob", commit, True)


def test_only_gitlabs_own_notes_tell_of_approvals() -> None:
    def note(system: bool, when: str) -> dict[str, object]:
        body = "approved this merge request"
        return {"system": system, "body": body, "author": BOB, "created_at": when}

    first, second = "2026-11-21T15:00:00.000Z", "2026-11-21T15:10:00.000Z"
    notes = [note(True, second), note(True, first), note(False, "2026-11-21T15:20:00.000Z")]
    assert approval_moments(notes) == {"bob": second}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("success", CheckState.SUCCESS), ("failed", CheckState.FAILURE),
        ("canceled", CheckState.ERROR), ("skipped", CheckState.ERROR),
        ("pending", CheckState.PENDING), ("waiting_for_resource", CheckState.PENDING),
        ("a word of another year", CheckState.PENDING),
    ],
)  # fmt: skip
def test_only_success_is_success(word: str, state: CheckState) -> None:
    status = {"name": "gitbot/plan", "status": word, "created_at": "2026-11-21T15:00:00.000Z"}
    assert commit_status_of(status).state is state


def test_a_line_of_gitbot_is_no_command_of_gitlab() -> None:
    said = "<!-- m -->\n/merge\n```\n/approve\n```\na /close b\n / x\n"
    kept = "<!-- m -->\n /merge\n```\n /approve\n```\na /close b\n / x\n"
    assert without_quick_actions(said) == kept
    assert without_quick_actions(kept) == kept
