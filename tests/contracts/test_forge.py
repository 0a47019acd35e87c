"""The Forge port, held on the local forge, the one in memory, GitHub, GitLab and a real Gitea.

GitHub and GitLab are doubles of ours over HTTP; GitHub's own description holds its double in
tests/forge. Gitea is the server itself, in the tier forge.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitbot.errors import ConflictError, ForgeError
from gitbot.ports.forge import (
    CheckState,
    CommitStatus,
    Forge,
    MergeMethod,
    PullRequest,
    PullState,
)
from gitbot.ports.repository import Repository
from tests.contracts.forges import DOUBLES, LIVE, REAL, Stage, stage


@pytest.fixture(params=(*DOUBLES, REAL, *LIVE))
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    server = request.getfixturevalue("gitea") if request.param == "gitea" else None
    with stage(request.param, tmp_path, server) as made:
        yield made


@pytest.fixture
def forge(scene: Stage) -> Forge:
    return scene.forge


@pytest.fixture
def repository(scene: Stage) -> Repository:
    return scene.repository


def push(repository: Repository, branch: str, files: dict[str, bytes | None]) -> str:
    expected = repository.resolve(branch)
    start = expected or repository.resolve("main")
    assert start is not None
    if expected is None:
        repository.write_commit(
            branch=branch, expected=None, files=dict(repository.read_tree("main")),
            message=f"start {branch}", time=2, parents=(start,),
        )  # fmt: skip
        expected = repository.resolve(branch)
    return repository.write_commit(
        branch=branch, expected=expected, files=files, message=f"change {branch}", time=3
    )


def opened(forge: Forge, repository: Repository, branch: str = "work") -> PullRequest:
    push(repository, branch, {f"{branch}.yaml": b"x\n"})
    return forge.open_pull(
        branch=branch, base_branch="main", title="A title", body="A body", labels=("b", "a")
    )


def test_an_opened_pull_request_is_listed(forge: Forge, repository: Repository) -> None:
    pull = opened(forge, repository)
    assert (pull.number, pull.author, pull.labels, pull.state) == (
        1, "alice", ("a", "b"), PullState.OPEN,
    )  # fmt: skip
    assert pull.head == repository.resolve("work")
    assert forge.list_pulls(state=PullState.OPEN) == (pull,)
    assert forge.list_pulls(branch="other") == ()


def test_old_ones_need_not_be_listed(forge: Forge, repository: Repository) -> None:
    numbers = [opened(forge, repository, f"w{number}").number for number in range(1, 5)]
    assert numbers == [1, 2, 3, 4]
    forge.close_pull(2)
    forge.close_pull(3)
    listed = {first: forge.list_pulls(first=first) for first in (1, 3, 4, 5)}
    assert {first: [pull.number for pull in pulls] for first, pulls in listed.items()} == {
        1: [1, 2, 3, 4], 3: [3, 4], 4: [4], 5: [],
    }  # fmt: skip
    closed = forge.list_pulls(state=PullState.CLOSED, first=3)
    assert [pull.number for pull in closed] == [3]


def test_opening_twice_gives_the_same(forge: Forge, repository: Repository) -> None:
    assert opened(forge, repository).number == opened(forge, repository).number == 1


def test_the_head_follows_the_branch(scene: Stage) -> None:
    forge, repository = scene.forge, scene.repository
    opened(forge, repository)
    newer = push(repository, "work", {"more.yaml": b"y\n"})
    scene.settled()
    assert forge.get_pull(1).head == newer


@pytest.mark.parametrize("method", list(MergeMethod))
def test_merging(scene: Stage, method: MergeMethod) -> None:
    forge, repository = scene.forge, scene.repository
    pull = opened(forge, repository)
    other = push(repository, "other", {"other.yaml": b"o\n"})
    forge.open_pull(branch="other", base_branch="main", title="t", body="", labels=())
    forge.merge_pull(2, method=MergeMethod.MERGE, expected_head=other)
    if method not in scene.parents:
        with pytest.raises(ForgeError, match="not by rebase"):
            forge.merge_pull(1, method=method, expected_head=pull.head)
        return
    merged = scene.acting_as("bob").merge_pull(1, method=method, expected_head=pull.head)
    repository.fetch()
    assert (merged.state, merged.merged_by, merged.merged_head) == (
        PullState.MERGED, "bob", pull.head,
    )  # fmt: skip
    assert merged.merged_at >= merged.created_at  # a real forge may need less than a second
    assert repository.resolve("main") == merged.merge_commit
    assert repository.read_blob("main", "work.yaml") == b"x\n"
    assert repository.read_blob("main", "other.yaml") == b"o\n"
    assert len(repository.commit("main").parents) == scene.parents[method]


def test_a_merge_needs_the_expected_head(scene: Stage) -> None:
    forge, repository = scene.forge, scene.repository
    pull = opened(forge, repository)
    push(repository, "work", {"more.yaml": b"y\n"})
    scene.settled()
    with pytest.raises(ConflictError, match="the head of pull request 1"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    assert forge.get_pull(1).state is PullState.OPEN


def test_a_conflict_is_no_merge(forge: Forge, repository: Repository) -> None:
    push(repository, "work", {"base": b"1\n"})
    pull = forge.open_pull(branch="work", base_branch="main", title="t", body="", labels=())
    repository.write_commit(
        branch="main", expected=repository.resolve("main"), files={"base": b"2\n"},
        message="m", time=4,
    )  # fmt: skip
    with pytest.raises(ForgeError, match="conflicts"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)


def test_required_reviews_of_the_newest_head(scene: Stage) -> None:
    scene.require_reviews(1)
    forge, repository = scene.acting_as("alice"), scene.repository
    pull = opened(forge, repository)
    with suppress(ForgeError):  # the author's own is refused, or does not count
        scene.approve(1, "alice")
    with pytest.raises(ForgeError, match="approv"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    scene.approve(1, "bob")
    newer = push(repository, "work", {"more.yaml": b"y\n"})
    scene.settled()
    with pytest.raises(ForgeError, match="approv"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=newer)
    scene.approve(1, "bob")
    assert forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=newer).reviews[-1].reviewer


def test_closing_without_a_merge(forge: Forge, repository: Repository) -> None:
    opened(forge, repository)
    forge.close_pull(1)
    forge.close_pull(1)
    assert forge.get_pull(1).state is PullState.CLOSED
    assert forge.get_pull(1).closed_at > 0
    with pytest.raises(ForgeError, match="is closed, not open"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=forge.get_pull(1).head)
    assert opened(forge, repository).number == 2


def test_the_sticky_comment_is_edited_in_place(forge: Forge, repository: Repository) -> None:
    opened(forge, repository)
    first = forge.upsert_comment(1, marker="<!-- a -->", body="one <!-- a -->")
    forge.upsert_comment(1, marker="<!-- b -->", body="two <!-- b -->")
    forge.upsert_comment(1, marker="<!-- a -->", body="three <!-- a -->")
    assert [comment.body for comment in forge.list_comments(1)] == [
        "three <!-- a -->",
        "two <!-- b -->",
    ]
    assert forge.list_comments(1)[0].id == first.id
    before = forge.list_comments(1)
    forge.upsert_comment(1, marker="<!-- a -->", body="three <!-- a -->")
    assert forge.list_comments(1) == before


def test_a_comment_that_quotes_a_marker_is_another_one(
    forge: Forge, repository: Repository
) -> None:
    """An answer quotes what people wrote; whose words they are, its first line says."""
    opened(forge, repository)
    answer = "<!-- answer -->\nyou said:\n```\n<!-- plan -->\n```"
    forge.upsert_comment(1, marker="<!-- answer -->", body=answer)
    forge.upsert_comment(1, marker="<!-- plan -->", body="<!-- plan -->\nthe plan")
    forge.upsert_comment(1, marker="<!-- plan -->", body="said\n<!-- plan -->\nanother")
    assert [comment.body for comment in forge.list_comments(1)] == [
        answer,
        "<!-- plan -->\nsaid\n<!-- plan -->\nanother",
    ]


def test_statuses_keep_the_newest_of_each_context(forge: Forge, repository: Repository) -> None:
    head = opened(forge, repository).head
    waiting = CommitStatus(context="gitbot/plan", state=CheckState.PENDING, description="w")
    done = CommitStatus(context="gitbot/plan", state=CheckState.SUCCESS, description="d")
    forge.set_status(head, waiting)
    forge.set_status(head, done)
    forge.set_status(head, CommitStatus(context="a", state=CheckState.ERROR, description="e"))
    assert [(s.context, s.state) for s in forge.list_statuses(head)] == [
        ("a", CheckState.ERROR),
        ("gitbot/plan", CheckState.SUCCESS),
    ]
    before = forge.list_statuses(head)
    forge.set_status(head, done)
    assert forge.list_statuses(head) == before


def test_labels_and_text_can_be_replaced(forge: Forge, repository: Repository) -> None:
    opened(forge, repository)
    forge.set_labels(1, ("z", "y", "z"))
    forge.edit_pull(1, title="New", body="Text")
    pull = forge.get_pull(1)
    assert (pull.labels, pull.title, pull.body) == (("y", "z"), "New", "Text")


def test_what_does_not_exist_is_an_error(forge: Forge, repository: Repository) -> None:
    with pytest.raises(ForgeError, match="there is no pull request 7"):
        forge.get_pull(7)
    with pytest.raises(ForgeError, match="there is no branch nowhere"):
        forge.open_pull(branch="nowhere", base_branch="main", title="t", body="", labels=())
