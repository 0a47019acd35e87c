"""Bad days: whatever GitHub answers to a write, the thing is there once in the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.rest.budget import BudgetSpent
from gitbot.adapters.forges.rest.refusals import RestRefusal, Unanswered
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ForgeError
from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
    CommitStatus,
    MergeMethod,
    PullState,
)
from tests.doubles.github import Fault, GitHub, Server, Trouble
from tests.doubles.github.queue import enable_auto_merge, enqueue, settle
from tests.doubles.github.state import Comment
from tests.doubles.github.state import Repository as Stored
from tests.unit.adapters.github.scripted import FakeClock

NAME = "acme/placement"
NOW = 1_800_000_000
RIGHTS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
}
NOTES = tuple(
    Annotation(path="a", line=n, level=AnnotationLevel.NOTICE, message="m") for n in range(1, 121)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The double, the forge over it, its clock, and a branch to open a pull request for."""

    service: GitHub
    forge: GitHubForge
    clock: FakeClock
    git: GitRepository

    @property
    def stored(self) -> Stored:
        return self.service.repository(NAME)

    def trouble(self, trouble: Trouble, method: str = "", path: str = ".*", **more: int) -> None:
        self.service.faults.append(Fault(trouble=trouble, method=method, path=path, **more))


@contextmanager
def begun(folder: Path) -> Iterator[Day]:
    clock = FakeClock(NOW)
    service = GitHub(folder / "service", clock=clock)
    stored = service.add_repository(NAME)
    stored.actions_may_approve = True
    service.add_collaborator(NAME, "ann", "write")
    git = GitRepository.clone(str(stored.git.directory), folder / "mirror")
    start = git.write_commit(
        branch="main", expected=None, files={"a": b"0\n"}, message="start", time=NOW
    )
    for branch in ("work", "other"):
        git.write_commit(
            branch=branch,
            expected=None,
            files={"a": b"0\n", branch: b"1\n"},
            message=branch,
            time=NOW,
            parents=(start,),
        )
    with Server(service) as server:
        credentials = Credentials(
            kind=CredentialKind.ACTIONS,
            api_url=server.api,
            token=service.job_token(NAME, RIGHTS, hours=1000),
            account="github-actions[bot]",
        )
        forge = GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=clock)
        forge.open_pull(branch="other", base_branch="main", title="t", body="b", labels=())
        clock.sleep(3600)
        yield Day(service=service, forge=forge, clock=clock, git=git)


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with begun(tmp_path) as made:
        yield made


def head(day: Day) -> str:
    found = day.git.resolve("other")
    assert found is not None
    return found


def opens(day: Day) -> int:
    day.forge.open_pull(branch="work", base_branch="main", title="t", body="b", labels=("gitbot",))
    return len(day.stored.pulls) - 1


def comments(day: Day) -> int:
    day.forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m --> one")
    return len(day.stored.comments)


def edits(day: Day) -> int:
    day.forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m --> one")
    day.forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m --> two")
    (comment,) = day.forge.list_comments(1)
    assert comment.body.endswith("two")
    return len(day.stored.comments)


def checks(day: Day) -> int:
    check = CheckRun(
        name="gitbot/plan", state=CheckState.FAILURE, title="t", summary="s", annotations=NOTES
    )
    day.forge.set_check(head(day), check)
    (found,) = day.forge.list_checks(head(day))
    assert sorted(note.line for note in found.annotations) == list(range(1, 121))
    return len(day.stored.check_runs)


def statuses(day: Day) -> int:
    status = CommitStatus(context="c", state=CheckState.SUCCESS, description="d")
    day.forge.set_status(head(day), status)
    return len(day.stored.statuses)


def issues(day: Day) -> int:
    day.forge.upsert_issue(marker="<!-- d -->", title="t", body="b")
    return len(day.stored.issues) - len(day.stored.pulls)


def closes(day: Day) -> int:
    day.forge.close_pull(1)
    return int(day.forge.get_pull(1).state is PullState.CLOSED)


def merges(day: Day) -> int:
    if day.forge.get_pull(1).state is PullState.MERGED:
        return 1
    merged = day.forge.merge_pull(1, method=MergeMethod.SQUASH, expected_head=head(day))
    assert merged.merged_head == head(day)
    return int(merged.state is PullState.MERGED)


def labels(day: Day) -> int:
    day.forge.set_labels(1, ("a", "b"))
    return int(day.forge.get_pull(1).labels == ("a", "b"))


OPERATIONS = (opens, comments, edits, checks, statuses, issues, closes, merges, labels)
LOST = (
    Trouble.LOSE,
    Trouble.DROP,
    *(
        pytest.param(item, marks=pytest.mark.slow)
        for item in (Trouble.REFUSE, Trouble.DROP_AFTER, Trouble.NO_JSON, Trouble.SECONDARY)
    ),
)


@pytest.mark.parametrize("trouble", LOST)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_is_there_once_whatever_became_of_the_answer(
    day: Day, operation: Callable[[Day], int], trouble: Trouble
) -> None:
    for method in ("POST", "PATCH", "PUT"):
        day.trouble(trouble, method)
    try:
        assert operation(day) == 1
    except BudgetSpent:  # what is only for the eye is left out while GitHub asks for a pause
        assert (operation in (issues, labels), trouble) == (True, Trouble.SECONDARY)
        day.clock.sleep(300)
    assert operation(day) == 1


@pytest.mark.parametrize("operation", [opens, comments, checks, statuses, issues])
def test_it_is_there_once_though_the_first_reads_are_old(
    day: Day, operation: Callable[[Day], int]
) -> None:
    day.trouble(Trouble.LOSE, "POST")
    day.trouble(Trouble.STALE, "GET", times=2, skip=1)
    assert operation(day) == 1


@pytest.mark.parametrize("operation", [opens, comments, checks, issues])
def test_reads_that_break_are_repeated(day: Day, operation: Callable[[Day], int]) -> None:
    day.trouble(Trouble.REFUSE, "GET", times=2)
    day.trouble(Trouble.DROP, "GET", skip=1)
    assert operation(day) == 1


def test_own_comment_is_found_beyond_the_first_pages(day: Day) -> None:
    for number in range(1, 251):
        identity = day.service.new_id()
        day.stored.comments[identity] = Comment(
            id=identity, number=1, user="ghost", body=str(number), created_at=1, updated_at=1
        )
    assert (comments(day), comments(day)) == (251, 251)


def test_annotations_go_in_portions_and_a_later_run_adds_the_lost_ones(day: Day) -> None:
    day.trouble(Trouble.REFUSE, "PATCH", times=99)
    with pytest.raises(ForgeError):
        checks(day)
    day.service.faults.clear()
    assert checks(day) == 1
    sent = [row.request for row in day.service.journal if "/check-runs" in row.request.path]
    sizes = [
        len(request.body["output"]["annotations"]) for request in sent if request.method != "GET"
    ]
    assert max(sizes) == 50


def test_a_write_that_never_gets_through_ends_with_what_to_do(day: Day) -> None:
    day.trouble(Trouble.REFUSE, "POST", times=50)
    with pytest.raises(Unanswered) as caught:
        comments(day)
    assert "run again" in caught.value.hint
    assert day.stored.comments == {}


def test_a_spent_hour_is_waited_for_no_longer_than_is_bearable(day: Day) -> None:
    day.trouble(Trouble.PRIMARY, "GET", times=50)
    with pytest.raises((BudgetSpent, Unanswered)):
        day.forge.list_pulls()
    assert sum(day.clock.slept) - 3600 < 1000


@pytest.mark.parametrize(
    ("branch", "words"), [("nowhere", "there is no branch nowhere"), ("main", "has nothing that")]
)
def test_what_cannot_be_opened_is_said(day: Day, branch: str, words: str) -> None:
    with pytest.raises(ForgeError, match=words):
        day.forge.open_pull(branch=branch, base_branch="main", title="t", body="", labels=())


def test_a_merge_by_the_queue_is_seen_as_it_was(day: Day) -> None:
    rules(day, {"type": "merge_queue"}, required("gitbot/plan"))
    planned = CheckRun(name="gitbot/plan", state=CheckState.SUCCESS, title="t", summary="s")
    day.forge.set_check(head(day), planned)
    commit = enqueue(day.service, NAME, 1)
    waiting = day.forge.get_pull(1)
    assert (waiting.state, waiting.merge_commit) == (PullState.OPEN, "")
    day.forge.set_check(commit, planned)
    settle(day.service, day.stored)
    pull = day.forge.get_pull(1)
    assert (pull.state, pull.merge_commit) == (PullState.MERGED, commit)
    assert pull.merged_head == head(day)
    assert pull.merged_by


def test_auto_merge_is_a_merge_by_whom_switched_it_on(day: Day) -> None:
    rules(day, {"type": "pull_request", "parameters": {"required_approving_review_count": 1}})
    assert day.forge.reviews_required == 1
    enable_auto_merge(day.service, NAME, 1, by="ann", method="squash")
    assert day.forge.get_pull(1).state is PullState.OPEN
    day.service.add_collaborator(NAME, "bob", "write")
    token = day.service.personal_token("bob")
    day.service.ask(token, "POST", f"/repos/{NAME}/pulls/1/reviews", {"event": "APPROVE"})
    pull = day.forge.get_pull(1)
    assert (pull.state, pull.merged_by, pull.merged_head) == (PullState.MERGED, "ann", head(day))
    (review,) = pull.reviews
    assert (review.reviewer, review.approved, review.can_write) == ("bob", True, True)
    assert review.commit == head(day)
    day.service.add_collaborator(NAME, "bob", "read")
    day.clock.sleep(61)
    assert not day.forge.get_pull(1).reviews[0].can_write


def rules(day: Day, *those: dict[str, object]) -> None:
    day.stored.rulesets[1] = {
        "name": "base",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": list(those),
    }


def required(context: str) -> dict[str, object]:
    checks = [{"context": context}]
    return {
        "type": "required_status_checks",
        "parameters": {"required_status_checks": checks},
    }


@pytest.mark.parametrize("method", list(MergeMethod))
def test_every_way_to_merge_names_the_commit_that_main_got(day: Day, method: MergeMethod) -> None:
    day.forge.merge_pull(1, method=method, expected_head=head(day))
    day.git.fetch()
    pull = day.forge.get_pull(1)
    assert pull.merge_commit == day.git.resolve("main")
    assert pull.merged_head == head(day)
    (listed,) = day.forge.list_pulls(state=PullState.MERGED)
    assert (listed.merge_commit, listed.merged_head) == (pull.merge_commit, pull.merged_head)


def test_a_token_that_expires_stops_the_run(day: Day) -> None:
    day.clock.sleep(1001 * 3600)
    with pytest.raises(RestRefusal, match="401"):
        day.forge.list_pulls()


def test_a_comment_that_two_runs_wrote_at_once_becomes_one(day: Day) -> None:
    first = day.forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m --> one")
    day.forge.upsert_comment(1, marker="<!-- n -->", body="<!-- n --> <!-- m --> two")
    assert len(day.stored.comments) == 2
    again = day.forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m --> three")
    assert again.id == first.id
    assert [item.body for item in day.forge.list_comments(1)] == ["<!-- m --> three"]


def test_the_dashboard_is_found_without_its_label_too(day: Day) -> None:
    first = day.forge.upsert_issue(marker="<!-- d -->", title="t", body="one")
    token = day.service.personal_token("ann")
    path = f"/repos/{NAME}/issues/{first.number}/labels"
    day.service.ask(token, "PUT", path, {"labels": []})
    again = day.forge.upsert_issue(marker="<!-- d -->", title="t", body="two")
    assert again.number == first.number
    day.service.ask(token, "PATCH", f"/repos/{NAME}/issues/{first.number}", {"state": "closed"})
    closed = day.forge.upsert_issue(marker="<!-- d -->", title="t", body="three")
    assert (closed.number, closed.is_open) == (first.number, False)
