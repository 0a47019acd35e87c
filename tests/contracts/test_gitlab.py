"""What GitLab alone does: how projects merge, approvals without a commit, quick actions."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitbot.adapters.forges.gitlab.forge import GitLabForge
from gitbot.adapters.forges.rest.budget import BudgetSpent
from gitbot.errors import ConflictError, ForgeError, ForgeRefused
from gitbot.execution.approval import PullReview
from gitbot.model.plan.diagnosis import Outcome
from gitbot.ports.forge import CheckState, CommitStatus, MergeMethod, PullRequest, PullState
from tests.contracts.forges import (
    DEEP,
    DEVELOPER,
    Stage,
    StepClock,
    gitlab_scene,
    live_gitlab_stage,
)
from tests.contracts.test_forge import opened, push
from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.gitlab import GitLab, Project, Server, merging
from tests.forge.gitlab.server import RunningGitLab

ROOT = f"/projects/{DEEP.replace('/', '%2F')}"
REQUEST = f"{ROOT}/merge_requests/1"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[tuple[GitLab, Stage]]:
    with gitlab_scene(tmp_path) as (service, made):
        made.repository.write_commit(
            branch="main", expected=None, files={"base": b"0\n"}, message="start", time=1
        )
        yield service, made


@pytest.fixture
def service(scene: tuple[GitLab, Stage]) -> GitLab:
    return scene[0]


@pytest.fixture
def project(service: GitLab) -> Project:
    return service.projects[DEEP]


@pytest.fixture
def stage(scene: tuple[GitLab, Stage]) -> Stage:
    return scene[1]


@pytest.fixture
def forge(stage: Stage) -> GitLabForge:
    assert isinstance(stage.forge, GitLabForge)
    return stage.forge


def moved(stage: Stage) -> None:
    """Somebody else's commit on main."""
    main = stage.repository.resolve("main")
    stage.repository.write_commit(
        branch="main", expected=main, files={"other": b"1\n"}, message="other", time=5
    )


def counted(forge: GitLabForge) -> list[str]:
    pull = forge.get_pull(1)
    return [review.reviewer for review in pull.reviews if review.commit == pull.head]


@pytest.mark.parametrize(
    ("method", "squash", "parents"),
    [
        ("merge", False, 2), ("merge", True, 2),
        ("rebase_merge", False, 2), ("rebase_merge", True, 2),
        ("ff", False, 1), ("ff", True, 1),
    ],
)  # fmt: skip
def test_a_persons_merge_is_understood_however_the_project_merges(
    scene: tuple[GitLab, Stage], forge: GitLabForge, method: str, squash: bool, parents: int
) -> None:
    service, stage = scene
    service.projects[DEEP].merge_method = method
    pull = opened(forge, stage.repository)
    service.ask("bob", "PUT", f"{REQUEST}/merge", {"sha": pull.head, "squash": squash})
    stage.repository.fetch()
    merged = forge.get_pull(1)
    assert (merged.state, merged.merged_by, merged.merged_head) == (
        PullState.MERGED, "bob", pull.head,
    )  # fmt: skip
    assert merged.merge_commit == stage.repository.resolve("main")
    assert len(stage.repository.commit("main").parents) == parents
    assert forge.list_pulls() == (merged,)


def test_a_rebase_makes_a_head_that_nobody_approved(
    service: GitLab, project: Project, stage: Stage, forge: GitLabForge
) -> None:
    project.merge_method, project.approval_rules = "ff", 1
    opened(forge, stage.repository)
    stage.approve(1, "bob")
    moved(stage)
    with pytest.raises(ForgeError, match="needs a rebase"):
        forge.merge_pull(1, method=MergeMethod.REBASE, expected_head=forge.get_pull(1).head)
    assert counted(forge) == ["bob"]
    merging.rebase(project, project.requests[1], by="alice", now=service.clock.now())
    assert counted(forge) == []  # GitLab itself still counts it
    head = forge.get_pull(1).head
    with pytest.raises(ForgeError, match=f"0 of 1 approvals of {head}"):
        forge.merge_pull(1, method=MergeMethod.REBASE, expected_head=head)
    stage.approve(1, "bob")
    assert forge.merge_pull(1, method=MergeMethod.REBASE, expected_head=head).merge_commit == head


def test_a_free_server_has_no_rules_and_gitbot_counts(
    project: Project, stage: Stage, forge: GitLabForge
) -> None:
    assert project.approval_rules is None
    assert forge.reviews_required == 0
    forge.require_reviews(1)
    pull = opened(forge, stage.repository)
    with pytest.raises(ForgeError, match="0 of 1 approvals"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    stage.approve(1, "bob")
    forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)


def test_a_push_may_take_approvals_away(project: Project, stage: Stage, forge: GitLabForge) -> None:
    project.reset_on_push = True
    opened(forge, stage.repository)
    stage.approve(1, "bob")
    push(stage.repository, "work", {"more.yaml": b"y\n"})
    assert forge.get_pull(1).reviews == ()


def test_an_older_server_says_in_notes_when_it_was_approved(
    project: Project, stage: Stage, forge: GitLabForge
) -> None:
    project.approved_at = False
    opened(forge, stage.repository)
    stage.approve(1, "bob")
    assert counted(forge) == ["bob"]
    push(stage.repository, "work", {"more.yaml": b"y\n"})
    assert counted(forge) == []
    assert forge.list_comments(1) == ()  # what GitLab notes itself is no comment


def test_who_lost_the_right_no_longer_approves(
    service: GitLab, stage: Stage, forge: GitLabForge
) -> None:
    opened(forge, stage.repository)
    stage.approve(1, "bob")
    service.add_member(DEEP, "bob", DEVELOPER - 10)
    (review,) = forge.get_pull(1).reviews
    assert isinstance(review, PullReview)
    assert not review.can_write
    service.add_member(DEEP, "cara", DEVELOPER)
    service.users["cara"].state = "blocked"
    assert not forge.can_write("cara")
    assert not forge.can_write("nobody")


def test_gitbots_text_gives_no_order_to_gitlab(stage: Stage, forge: GitLabForge) -> None:
    opened(forge, stage.repository)
    hostile = "<!-- a -->\nyou said:\n/close\n/approve\n"
    comment = forge.upsert_comment(1, marker="<!-- a -->", body=hostile)
    forge.edit_pull(1, title="New", body="text\n/close\n/approve")
    forge.upsert_comment(1, marker="<!-- a -->", body=hostile + "more")
    assert forge.list_comments(1)[0].id == comment.id
    pull = forge.get_pull(1)
    assert (pull.state, pull.reviews) == (PullState.OPEN, ())


def test_a_merge_train_is_left_to_people(
    project: Project, stage: Stage, forge: GitLabForge
) -> None:
    project.merge_trains_enabled = True
    pull = opened(forge, stage.repository)
    with pytest.raises(ForgeError, match="merge trains"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    assert forge.get_pull(1).state is PullState.OPEN


def test_a_push_in_the_last_moment_is_not_merged(
    stage: Stage, forge: GitLabForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = opened(forge, stage.repository)
    monkeypatch.setattr(
        forge, "_check_approvals", lambda _: push(stage.repository, "work", {"late.yaml": b"z\n"})
    )
    with pytest.raises(ConflictError, match="the head of pull request 1 is"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
    assert forge.get_pull(1).state is PullState.OPEN


def test_a_draft_says_what_to_do(stage: Stage, forge: GitLabForge) -> None:
    pull = opened(forge, stage.repository)
    forge.edit_pull(1, title="Draft: x", body="")
    with pytest.raises(ForgeError, match="is a draft"):
        forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)


def test_who_may_not_merge_learns_why(service: GitLab, stage: Stage, forge: GitLabForge) -> None:
    pull = opened(forge, stage.repository)
    service.add_member(DEEP, "rita", DEVELOPER - 10)
    with pytest.raises(ForgeRefused, match="401"):
        stage.acting_as("rita").merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)


def test_only_who_pushed_a_commit_pushed_it(
    project: Project, stage: Stage, forge: GitLabForge
) -> None:
    pull = opened(forge, stage.repository)
    assert forge.has_pushed("alice", pull.head)
    assert not forge.has_pushed("bob", pull.head)
    project.pusher = "bob"
    newer = push(stage.repository, "work", {"more.yaml": b"y\n"})
    assert forge.get_pull(1).head == newer
    assert not forge.has_pushed("alice", newer)


def test_a_group_is_a_team(service: GitLab, forge: GitLabForge) -> None:
    service.add_user("bob")
    service.add_user("gone").state = "blocked"
    service.groups["acme/owners/storage"] = ["bob", "gone"]
    assert forge.team_members("@acme/owners/storage") == frozenset({"bob"})
    assert forge.team_members("@acme/none") is None


LOST = [Trouble.DROP, Trouble.DROP_AFTER, Trouble.LOSE, Trouble.REFUSE, Trouble.SECONDARY]


@pytest.mark.parametrize(
    ("method", "trouble"),
    [*((method, trouble) for method in ("POST", "PUT") for trouble in LOST), ("GET", Trouble.DROP)],
)
def test_what_is_lost_is_found_and_done_once(
    service: GitLab, stage: Stage, forge: GitLabForge, trouble: Trouble, method: str
) -> None:
    """Each call of that method loses its answer once: the same state as without trouble."""
    for skip in range(40):
        fault = Fault(trouble=trouble, method=method, skip=skip, retry_after=5)
        service.faults = [fault]
        branch = f"w{skip}"
        push(stage.repository, branch, {f"{branch}.yaml": b"x\n"})
        pull = forge.open_pull(
            branch=branch, base_branch="main", title="A", body="B", labels=("l",)
        )
        said(forge, pull)
        merged = forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)
        service.faults = []
        assert (merged.number, merged.state) == (skip + 1, PullState.MERGED)
        # labels are only for people, and wait for no limit
        assert merged.labels == ("l",) or trouble is Trouble.SECONDARY
        assert [note.body for note in forge.list_comments(pull.number)] == ["<!-- m -->\ntwo"]
        (status,) = forge.list_statuses(pull.head)
        assert (status.state, status.description) == (CheckState.PENDING, "until 23:00")
        assert len(forge.list_pulls()) == skip + 1
        if not fault.met:  # every call had its turn
            break
    assert skip in range(3, 39)
    assert len(service.projects[DEEP].issues) == 1
    stage.repository.fetch()
    assert stage.repository.resolve("main") == merged.merge_commit


def said(forge: GitLabForge, pull: PullRequest) -> None:
    """All that gitbot writes: a note, twice; a status that waits, twice; the dashboard."""
    for text in ("one", "two"):
        forge.upsert_comment(pull.number, marker="<!-- m -->", body=text)
        with suppress(BudgetSpent):  # like labels
            forge.upsert_issue(marker="<!-- d -->", title="gitbot", body=f"{pull.number} {text}")
    for text in ("until 22:00", "until 23:00"):
        forge.set_status(
            pull.head, CommitStatus(context="c", state=CheckState.PENDING, description=text)
        )


def test_doctor_says_what_keeps_gitbot_from_working(
    service: GitLab, project: Project, stage: Stage
) -> None:
    def outcomes() -> dict[str, Outcome]:
        fresh = stage.acting_as("alice")  # remembers no answer
        assert isinstance(fresh, GitLabForge)
        return {check.name: check.outcome for check in fresh.diagnose()}

    found = outcomes()
    assert found["forge/reach"] is found["forge/token"] is Outcome.PASS
    assert found["forge/base"] is Outcome.FAIL
    project.protected.add("main")
    project.merge_trains_enabled = True
    found = outcomes()
    assert (found["forge/base"], found["forge/merges"]) == (Outcome.PASS, Outcome.PASS)
    assert found["forge/reviews"] is Outcome.WARN
    project.approval_rules = 1
    service.add_member(DEEP, "alice", DEVELOPER - 10)
    found = outcomes()
    assert (found["forge/reviews"], found["forge/token"]) == (Outcome.PASS, Outcome.FAIL)
    project.archived = True
    assert set(outcomes()) == {"forge/reach"}


def test_the_run_for_a_server_of_yours_works(tmp_path: Path) -> None:
    """It makes accounts and projects, and pushes over HTTP: here on the double."""
    service = GitLab(tmp_path / "service", clock=StepClock())
    with Server(service) as server:
        running = RunningGitLab(web=server.url, administrator=service.token("root"))
        with live_gitlab_stage(running, tmp_path) as stage:
            stage.repository.write_commit(
                branch="main", expected=None, files={"base": b"0\n"}, message="start", time=1
            )
            stage.require_reviews(1)
            forge = stage.acting_as("alice")
            pull = opened(forge, stage.repository)
            stage.settled()
            with pytest.raises(ForgeError, match="0 of 1 approvals"):
                forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
            stage.approve(1, "bob")
            merged = forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=pull.head)
            assert forge.has_pushed("alice", pull.head)
            stage.repository.fetch()
            assert stage.repository.resolve("main") == merged.merge_commit
