"""What GitHub does in portions, through PyGithub: pages, chunks of annotations, waits, tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.errors import ForgeError
from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
)
from tests.doubles.github import Fault, GitHub, Server, Trouble
from tests.doubles.github.state import Comment

NAME = "acme/placement"
RIGHTS = dict.fromkeys(("checks", "contents", "issues", "pull_requests", "statuses"), "write")


class Clock:
    """Time that passes when somebody sleeps, and a second at each look."""

    def __init__(self) -> None:
        self.present = 1_795_269_600
        self.slept: list[int] = []

    def now(self) -> int:
        return self.present

    def sleep(self, seconds: int) -> None:
        self.present += seconds
        self.slept.append(seconds)


class Scene:
    """A repository with branches main and work, and gitbot with the token of a job."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.github = GitHub(folder, clock=self.clock)
        self.repository = self.github.add_repository(NAME)
        self.repository.actions_may_approve = True
        self.commit("main", "base")
        self.head = self.commit("work", "work")
        self.server = Server(self.github)

    def commit(self, branch: str, name: str) -> str:
        git = self.repository.git
        parent = git.resolve(branch) or git.resolve("main")
        sha = git.write_commit(
            git.write_tree(parent, {name: b"x\n"}), parents=(parent,) if parent else (),
            message=name, name="alice", email="alice@example.org", time=self.clock.now(),
        )  # fmt: skip
        git.set_ref(f"refs/heads/{branch}", sha)
        return sha

    def forge(self) -> GitHubForge:
        """A new gitbot, which remembers nothing."""
        credentials = Credentials(
            kind=CredentialKind.ACTIONS,
            api_url=self.server.api,
            token=self.github.job_token(NAME, RIGHTS),
            account="github-actions[bot]",
        )
        return GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=self.clock)

    def open(self) -> None:
        self.forge().open_pull(branch="work", base_branch="main", title="t", body="", labels=())

    def trouble(self, trouble: Trouble, method: str, path: str = ".*", **more: int) -> Fault:
        fault = Fault(trouble=trouble, method=method, path=path, **more)
        self.github.faults.append(fault)
        return fault

    def writes(self, path: str) -> int:
        """How many requests other than reads reached an address that ends so."""
        return sum(
            1
            for row in self.github.journal
            if row.request.method != "GET" and row.request.path.endswith(path)
        )


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    with made.server:
        yield made


def comment(scene: Scene) -> None:
    scene.forge().upsert_comment(1, marker="<!-- m -->", body="text <!-- m -->")


def note(number: int) -> Annotation:
    return Annotation(
        path="a.yaml", line=number, level=AnnotationLevel.FAILURE, message=f"line {number}"
    )


def a_check(notes: int = 0) -> CheckRun:
    return CheckRun(
        name="gitbot/plan", state=CheckState.FAILURE, title="no", summary="s",
        annotations=tuple(map(note, range(1, notes + 1))),
    )  # fmt: skip


def found(scene: Scene) -> dict[str, int]:
    """How much of everything there is."""
    repository = scene.repository
    return {"status": len(repository.statuses), "check": len(repository.check_runs)}


def test_a_secondary_limit_is_waited_for_as_told(scene: Scene) -> None:
    scene.open()
    scene.trouble(Trouble.SECONDARY, "POST", retry_after=90)
    before = scene.clock.now()
    comment(scene)
    assert scene.clock.now() - before >= 90
    assert scene.writes("/comments") == 2


def test_more_comments_than_a_page(scene: Scene) -> None:
    scene.open()
    for number in range(1, 251):
        identity = scene.github.new_id()
        scene.repository.comments[identity] = Comment(
            id=identity, number=1, user="ghost", body=str(number), created_at=1, updated_at=1
        )
    comment(scene)
    comment(scene)
    listed = scene.forge().list_comments(1)
    assert (len(listed), listed[0].body, scene.writes("/comments")) == (251, "1", 1)


def test_annotations_beyond_fifty_are_all_there(scene: Scene) -> None:
    scene.open()
    scene.forge().set_check(scene.head, a_check(notes=120))
    (shown,) = scene.forge().list_checks(scene.head)
    assert [item.line for item in shown.annotations] == list(range(1, 121))
    sizes = [
        len(row.request.body["output"]["annotations"])
        for row in scene.github.journal
        if row.request.method in ("POST", "PATCH") and "/check-runs" in row.request.path
    ]
    assert sizes == [50, 50, 20]


def test_chunks_that_were_lost_are_added(scene: Scene) -> None:
    scene.open()
    scene.trouble(Trouble.REFUSE, "PATCH", times=99)
    with pytest.raises(ForgeError):
        scene.forge().set_check(scene.head, a_check(notes=120))
    scene.github.faults.clear()
    scene.forge().set_check(scene.head, a_check(notes=120))
    (shown,) = scene.forge().list_checks(scene.head)
    assert len(shown.annotations) == 120
    assert found(scene)["check"] == 1


def test_a_personal_token_writes_statuses_instead_of_checks(scene: Scene) -> None:
    scene.open()
    scene.github.add_collaborator(NAME, "alice", "write")
    credentials = Credentials(
        kind=CredentialKind.CLASSIC,
        api_url=scene.server.api,
        token=scene.github.personal_token("alice"),
    )
    forge = GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=scene.clock)
    forge.set_check(scene.head, a_check())
    assert (found(scene)["check"], found(scene)["status"]) == (0, 1)
    (shown,) = forge.list_statuses(scene.head)
    assert (shown.context, shown.state) == ("gitbot/plan", CheckState.FAILURE)


def test_unchanged_reads_cost_nothing(scene: Scene) -> None:
    scene.open()
    forge = scene.forge()
    forge.list_pulls()
    used = sum(count for count, _ in scene.github.limits.used.values())
    forge.list_pulls()
    assert sum(count for count, _ in scene.github.limits.used.values()) == used
