"""A real Gitea: merges of all styles and what comes after them, lost answers, reviews, forks."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.ports.forge import CheckState, CommitStatus, MergeMethod, PullState
from tests.contracts.forges import Stage, approve, stage
from tests.contracts.test_forge import opened, push
from tests.forge.gitea.server import OWNER, Gitea

pytestmark = [pytest.mark.forge, pytest.mark.xdist_group("gitea")]


@pytest.fixture
def scene(gitea: Gitea, tmp_path: Path) -> Iterator[Stage]:
    with stage("gitea", tmp_path, gitea) as made:
        yield made


def eventually(look: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("style", ["rebase-merge", "fast-forward-only", "manually-merged"])
def test_each_style_is_a_merge_of_the_head(scene: Stage, gitea: Gitea, style: str) -> None:
    forge = scene.forge
    assert isinstance(forge, GiteaForge)
    root = f"/repos/{forge.repository}"
    styles = {"allow_manual_merge": True, "allow_fast_forward_only_merge": True}
    gitea.do(OWNER, "PATCH", root, styles)
    pull = opened(forge, scene.repository)
    body = {"Do": style}
    if style == "manually-merged":
        scene.repository.write_commit(
            branch="main", expected=scene.repository.resolve("main"),
            files=dict(scene.repository.read_tree("work")), message="by hand", time=9,
            parents=(scene.repository.resolve("main") or "", pull.head),
        )  # fmt: skip
        body["merge_commit_id"] = scene.repository.resolve("main") or ""
    eventually(lambda: gitea.do("bob", "GET", f"{root}/pulls/1")["mergeable"])
    gitea.do("bob", "POST", f"{root}/pulls/1/merge", body)
    merged = forge.get_pull(1)
    scene.repository.fetch()
    assert (merged.state, merged.merged_head, merged.merged_by) == (
        PullState.MERGED, pull.head, "bob",
    )  # fmt: skip
    assert merged.merge_commit == scene.repository.resolve("main")


def test_what_comes_after_a_merge_moves_nothing(scene: Stage, gitea: Gitea) -> None:
    forge, repository = scene.forge, scene.repository
    assert isinstance(forge, GiteaForge)
    pull = opened(forge, repository)
    merged = forge.merge_pull(1, method=MergeMethod.SQUASH, expected_head=pull.head)
    newer = push(repository, "work", {"later.yaml": b"z\n"})
    assert gitea.do("bob", "GET", f"/repos/{forge.repository}/pulls/1")["head"]["sha"] == newer
    assert forge.get_pull(1) == merged  # the server itself shows the newer commit
    assert forge.list_pulls()[0].merged_head == pull.head
    gitea.do("alice", "DELETE", f"/repos/{forge.repository}/branches/work")
    assert forge.get_pull(1) == merged


def test_a_fork_is_another_branch_and_a_reader_approves_nothing(scene: Stage, gitea: Gitea) -> None:
    forge = scene.forge
    assert isinstance(forge, GiteaForge)
    root, name = f"/repos/{forge.repository}", forge.repository.partition("/")[2]
    gitea.token("eve")
    gitea.do("eve", "POST", f"{root}/forks", {})
    eventually(lambda: not gitea.do("eve", "GET", f"/repos/eve/{name}")["empty"])
    change = {"content": "eA==", "branch": "main", "new_branch": "work"}
    gitea.do("eve", "POST", f"/repos/eve/{name}/contents/x.yaml", change)
    pull = {"head": "eve:work", "base": "main", "title": "from a fork"}
    gitea.do("eve", "POST", f"{root}/pulls", pull)
    gitea.token("rita")
    approving = {rita: scene.acting_as(rita) for rita in ("rita", "bob")}
    for reviewer in approving.values():
        assert isinstance(reviewer, GiteaForge)
        approve(reviewer, 1)
    found = forge.get_pull(1)
    assert (found.branch, found.author) == ("eve:work", "eve")
    assert forge.list_pulls(branch="work") == ()
    assert [(each.reviewer, each.can_write) for each in found.reviews] == [
        ("rita", False), ("bob", True),
    ]  # fmt: skip
    gitea.do("eve", "DELETE", f"/repos/eve/{name}")
    assert forge.get_pull(1).branch == "unknown:work"


def test_a_dismissed_approval_counts_no_more(scene: Stage, gitea: Gitea) -> None:
    forge = scene.forge
    assert isinstance(forge, GiteaForge)
    opened(forge, scene.repository)
    scene.approve(1, "bob")
    (review,) = gitea.do("bob", "GET", f"/repos/{forge.repository}/pulls/1/reviews")
    assert forge.get_pull(1).reviews[0].approved
    path = f"/repos/{forge.repository}/pulls/1/reviews/{review['id']}/dismissals"
    gitea.do(OWNER, "POST", path, {"message": "wait"})
    assert not forge.get_pull(1).reviews[0].approved


def test_who_pushed_is_told_by_the_server(scene: Stage) -> None:
    forge = scene.forge
    head = opened(forge, scene.repository).head
    eventually(lambda: _fresh(scene).has_pushed("alice", head))
    assert not forge.has_pushed("bob", head)
    assert not forge.has_pushed("alice", "0" * 40)


def _fresh(scene: Stage) -> GiteaForge:
    forge = scene.acting_as("alice")
    assert isinstance(forge, GiteaForge)
    return forge


def test_a_deleted_branch_closes_its_pull_request(scene: Stage, gitea: Gitea) -> None:
    forge = scene.forge
    assert isinstance(forge, GiteaForge)
    pull = opened(forge, scene.repository)
    gitea.do("alice", "DELETE", f"/repos/{forge.repository}/branches/work")
    eventually(lambda: forge.get_pull(1).state is PullState.CLOSED)
    assert (forge.get_pull(1).head, forge.get_pull(1).branch) == (pull.head, "work")


def test_more_statuses_than_a_page(scene: Stage) -> None:
    forge = scene.forge
    head = opened(forge, scene.repository).head
    for number in range(55):
        state = CheckState.SUCCESS if number == 54 else CheckState.PENDING
        forge.set_status(
            head, CommitStatus(context="gitbot/plan", state=state, description=f"{number}")
        )
    (found,) = forge.list_statuses(head)
    assert (found.state, found.description) == (CheckState.SUCCESS, "54")


class Lossy:
    """Loses the answer to one write, after the server has done it."""

    def __init__(self, forge: GiteaForge, lost: int) -> None:
        self.send, self.lost, self.writes = forge.api.send, lost, 0
        forge.api.send = self

    def __call__(self, verb: str, path: str, **named: Any) -> tuple[int, dict[str, Any], str]:
        answer = self.send(verb, path, **named)
        if verb != "GET":
            self.writes += 1
            if self.writes == self.lost:
                raise ConnectionResetError
        return answer


WRITES = 9  # of the calls below, with the labels that do not exist


@pytest.mark.parametrize("lost", range(1, WRITES + 1))
def test_a_lost_answer_doubles_nothing(scene: Stage, gitea: Gitea, lost: int) -> None:
    forge = scene.forge
    assert isinstance(forge, GiteaForge)
    push(scene.repository, "work", {"work.yaml": b"x\n"})
    losing = Lossy(forge, lost)
    pull = forge.open_pull(
        branch="work", base_branch="main", title="t", body="b", labels=("a", "b")
    )
    forge.upsert_comment(1, marker="<!-- m -->", body="one")
    forge.upsert_comment(1, marker="<!-- m -->", body="two")
    forge.upsert_issue(marker="<!-- d -->", title="d", body="one")
    done = CommitStatus(context="gitbot/plan", state=CheckState.SUCCESS, description="d")
    forge.set_status(pull.head, done)
    forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    assert losing.writes == WRITES
    ask, root = gitea.do, f"/repos/{forge.repository}"
    assert [each["body"] for each in ask("bob", "GET", f"{root}/issues/1/comments")] == [
        "<!-- m -->\ntwo"
    ]
    assert sorted(each["name"] for each in ask("bob", "GET", f"{root}/labels")) == ["a", "b"]
    assert [each["number"] for each in ask("bob", "GET", f"{root}/issues?state=all")] == [2, 1]
    assert len(ask("bob", "GET", f"{root}/statuses/{pull.head}")) == 1
    assert forge.get_pull(1).state is PullState.MERGED
