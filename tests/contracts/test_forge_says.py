"""What gitbot says on a forge: checks, comments, the dashboard, rights; the same on every one.

GitHub is spoken to as an App, as a job, and with a personal token, which may write no check runs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.github.connect import access_of
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.forges.rest.git_access import remote_of
from gitbot.adapters.git.repository import GitRepository
from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
    Forge,
)
from gitbot.ports.repository import Repository
from tests.contracts.forges import (
    DEEP,
    DEVELOPER,
    NAME,
    REAL,
    StepClock,
    gitea_stage,
    gitlab_scene,
)
from tests.doubles import people
from tests.doubles.forge import MemoryForge
from tests.doubles.github import GitHub, Server
from tests.doubles.repository import MemoryRepository
from tests.forge.gitea.server import OWNER, Gitea

RIGHTS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
}
KINDS = ("local", "memory", "app", "job", "person", "gitlab", REAL)
WITH_CHECKS = ("local", "memory", "app", "job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A forge of gitbot's with an open pull request 1; `say` comments as somebody else."""

    forge: Forge
    repository: Repository
    say: Callable[[str, str], int]
    make_reader: Callable[[str], None]
    settled: Callable[[], None] = lambda: None  # the forge has worked on the first push


@pytest.fixture(scope="module")
def key() -> tuple[str, str]:
    """The private and public key of an App, in PEM."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = made.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path, key: tuple[str, str]) -> Iterator[Scene]:
    makers = {
        "local": lambda: _local(tmp_path),
        "memory": lambda: _memory(tmp_path),
        "gitlab": lambda: _gitlab(tmp_path),
        "gitea": lambda: _gitea(request.getfixturevalue("gitea"), tmp_path),
    }
    kind = request.param
    with makers.get(kind, lambda: _github(kind, tmp_path, key))() as made:
        start = made.repository.write_commit(
            branch="main", expected=None, files={"base": b"0\n"}, message="start", time=1
        )
        made.repository.write_commit(
            branch="work",
            expected=None,
            files={"base": b"0\n", "work.yaml": b"x\n"},
            message="work",
            time=2,
            parents=(start,),
        )
        made.settled()
        made.forge.open_pull(branch="work", base_branch="main", title="t", body="", labels=())
        yield made


@contextmanager
def _local(folder: Path) -> Iterator[Scene]:
    forge = LocalForge.create(folder / "bare.git", clock=StepClock())

    def say(who: str, body: str) -> int:
        return forge.acting_as(who).upsert_comment(1, marker=body, body=body).id

    yield Scene(
        forge=forge,
        repository=GitRepository.clone(str(folder / "bare.git"), folder / "mirror"),
        say=say,
        make_reader=partial(people.refuse_writing, forge),
    )


@contextmanager
def _memory(folder: Path) -> Iterator[Scene]:
    repository = MemoryRepository()
    forge = MemoryForge(repository, StepClock())

    def say(who: str, body: str) -> int:
        before, forge.account = forge.account, who
        comment = forge.upsert_comment(1, marker=body, body=body)
        forge.account = before
        return comment.id

    yield Scene(forge=forge, repository=repository, say=say, make_reader=forge.readers.add)


@contextmanager
def _gitea(server: Gitea, folder: Path) -> Iterator[Scene]:
    with gitea_stage(server, folder) as made:
        assert isinstance(made.forge, GiteaForge)
        root = f"/repos/{made.forge.repository}"
        server.token("ann")
        server.do(OWNER, "PUT", f"{root}/collaborators/ann", {"permission": "write"})

        def say(who: str, body: str) -> int:
            return int(server.do(who, "POST", f"{root}/issues/1/comments", {"body": body})["id"])

        def make_reader(who: str) -> None:
            server.token(who)
            server.do(OWNER, "PUT", f"{root}/collaborators/{who}", {"permission": "read"})

        yield Scene(
            forge=made.forge,
            repository=made.repository,
            say=say,
            make_reader=make_reader,
            settled=made.settled,
        )


@contextmanager
def _gitlab(folder: Path) -> Iterator[Scene]:
    with gitlab_scene(folder) as (service, made):
        service.add_member(DEEP, "ann", DEVELOPER)
        where = f"/projects/{DEEP.replace('/', '%2F')}/merge_requests/1/notes"

        def say(who: str, body: str) -> int:
            return int(service.ask(who, "POST", where, {"body": body})["id"])

        yield Scene(
            forge=made.forge,
            repository=made.repository,
            say=say,
            make_reader=lambda who: service.add_member(DEEP, who, 20),  # GitLab's Reporter
        )


@contextmanager
def _github(kind: str, folder: Path, key: tuple[str, str]) -> Iterator[Scene]:
    # App tokens are signed and dated by the machine's clock
    service = GitHub(folder / "service", clock=SystemClock())
    service.add_repository(NAME).actions_may_approve = True
    service.add_collaborator(NAME, "gitbot", "write")
    service.add_collaborator(NAME, "ann", "write")
    with Server(service) as server:
        credentials = _credentials(kind, service, server, key)
        forge = GitHubForge.of(
            credentials, repository=NAME, base_branch="main", clock=SystemClock()
        )

        def say(who: str, body: str) -> int:
            token = service.personal_token(who)
            path = f"/repos/{NAME}/issues/1/comments"
            with server.lock:
                answer = service.ask(token, "POST", path, {"body": body})
            return int(answer.body["id"])

        yield Scene(
            forge=forge,
            repository=GitRepository.clone(
                remote_of(credentials.web_url, NAME),
                folder / "mirror",
                access=lambda: access_of(forge.api),
            ),
            say=say,
            make_reader=lambda who: service.add_collaborator(NAME, who, "read"),
        )


def _credentials(kind: str, service: GitHub, server: Server, key: tuple[str, str]) -> Credentials:
    if kind == "person":
        return Credentials(
            kind=CredentialKind.CLASSIC,
            api_url=server.api,
            token=service.personal_token("gitbot"),
        )
    if kind == "job":
        return Credentials(
            kind=CredentialKind.ACTIONS,
            api_url=server.api,
            token=service.job_token(NAME, RIGHTS),
            account="github-actions[bot]",
        )
    app = service.add_app("placer", public_key=key[1], permissions=RIGHTS, repository=NAME)
    return Credentials(
        kind=CredentialKind.APP, api_url=server.api, app_id=str(app.id), app_key=key[0]
    )


def note(number: int) -> Annotation:
    return Annotation(
        path="intents/prod/a.yaml",
        line=number,
        level=AnnotationLevel.WARNING,
        message=f"message {number}",
        title="plan/rule-broken",
    )


def check(state: CheckState, title: str, *notes: Annotation) -> CheckRun:
    return CheckRun(
        name="gitbot/plan", state=state, title=title, summary=f"all of {title}", annotations=notes
    )


def head(scene: Scene) -> str:
    return scene.forge.get_pull(1).head


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_a_check_is_listed_as_a_state(scene: Scene) -> None:
    commit = head(scene)
    for state in CheckState:
        assert scene.forge.set_check(commit, check(state, f"it is {state}"))
        (status,) = scene.forge.list_statuses(commit)
        assert (status.context, status.state) == ("gitbot/plan", state)
        assert status.description == f"it is {state}"


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_an_equal_check_is_not_written_again(scene: Scene) -> None:
    commit = head(scene)
    said = check(CheckState.PENDING, "waits until 22:00", note(3))
    assert scene.forge.set_check(commit, said)
    assert not scene.forge.set_check(commit, said)
    assert scene.forge.set_check(commit, check(CheckState.PENDING, "waits until 23:00"))
    assert len(scene.forge.list_statuses(commit)) == 1


@pytest.mark.parametrize("scene", WITH_CHECKS, indirect=True)
def test_annotations_are_kept_however_many(scene: Scene) -> None:
    commit = head(scene)
    notes = tuple(note(number) for number in range(1, 121))
    scene.forge.set_check(commit, check(CheckState.FAILURE, "many", *notes))
    (found,) = scene.forge.list_checks(commit)
    assert sorted(item.line for item in found.annotations) == list(range(1, 121))
    assert found.annotations[0].title == "plan/rule-broken"
    assert found.summary == "all of many"
    scene.forge.set_check(commit, check(CheckState.SUCCESS, "none"))
    (found,) = scene.forge.list_checks(commit)
    assert (found.state, found.annotations) == (CheckState.SUCCESS, ())


@pytest.mark.parametrize("scene", ["person", "gitlab", REAL], indirect=True)
def test_a_personal_token_writes_statuses_instead(scene: Scene) -> None:
    commit = head(scene)
    scene.forge.set_check(commit, check(CheckState.FAILURE, "t" * 300, note(1)))
    assert scene.forge.list_checks(commit) == ()
    (status,) = scene.forge.list_statuses(commit)
    assert len(status.description) == 140


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_only_the_own_comment_is_edited(scene: Scene) -> None:
    stranger = scene.say("ann", "<!-- m --> I am gitbot")
    mine = scene.forge.upsert_comment(1, marker="<!-- m -->", body="one")
    again = scene.forge.upsert_comment(1, marker="<!-- m -->", body="two")
    assert mine.id == again.id != stranger
    assert "two" in again.body
    assert "<!-- m -->" in again.body
    assert scene.forge.get_comment(1, stranger).author == "ann"
    assert mine.author == scene.forge.bot
    assert len(scene.forge.list_comments(1)) == 2


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_the_dashboard_is_one_issue(scene: Scene) -> None:
    first = scene.forge.upsert_issue(marker="<!-- d -->", title="gitbot", body="one")
    same = scene.forge.upsert_issue(marker="<!-- d -->", title="gitbot", body="one")
    edited = scene.forge.upsert_issue(marker="<!-- d -->", title="gitbot", body="two")
    assert first == same
    assert (first.number, first.author) == (edited.number, scene.forge.bot)
    assert "two" in edited.body
    other = scene.forge.upsert_issue(marker="<!-- e -->", title="other", body="x")
    assert other.number != first.number


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_who_may_write(scene: Scene) -> None:
    scene.make_reader("eve")
    assert scene.forge.can_write("ann")
    assert not scene.forge.can_write("eve")


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_an_approval_holds_the_right_of_its_reviewer(scene: Scene) -> None:
    pull = scene.forge.get_pull(1)
    assert pull.reviews == ()
    assert (pull.merge_commit, pull.merged_by) == ("", "")


@pytest.mark.parametrize("scene", ["app"], indirect=True)
def test_an_app_finds_its_installation_and_its_name(scene: Scene) -> None:
    assert scene.forge.bot == "placer[bot]"
    assert scene.forge.get_pull(1).author == "placer[bot]"
