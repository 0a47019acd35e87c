"""The forges that the contract of the Forge port is held on, each with a repository beside it."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.gitlab.api import GitLabApi
from gitbot.adapters.forges.gitlab.forge import GitLabForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.forges.rest.git_access import token_access
from gitbot.adapters.git.repository import GitRepository
from gitbot.ports.forge import Forge, MergeMethod, PullState
from gitbot.ports.repository import Repository
from tests.doubles.forge import MemoryForge
from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import Protection
from tests.doubles.gitlab import GitLab
from tests.doubles.gitlab import Server as GitLabServer
from tests.doubles.repository import MemoryRepository
from tests.forge.gitea.server import OWNER, Gitea
from tests.forge.gitlab.server import RunningGitLab

DOUBLES = ("local", "memory", "github", "gitlab")
LIVE_GITLAB = os.environ.get("GITBOT_LIVE_GITLAB", "")  # python -m tests.contracts.live
LIVE = (pytest.param("live-gitlab", marks=pytest.mark.forge),) if LIVE_GITLAB else ()
REAL = pytest.param("gitea", marks=(pytest.mark.forge, pytest.mark.xdist_group("gitea")))
NAME = "acme/placement"
DEEP = "acme/site/placement"
DEVELOPER = 30  # GitLab's access level of who may write
PARENTS = {MergeMethod.MERGE: 2, MergeMethod.SQUASH: 1, MergeMethod.REBASE: 1}
# The squashed commit is merged too; a rebase makes a new head, and is not a way to merge.
GITLAB_PARENTS = {MergeMethod.MERGE: 2, MergeMethod.SQUASH: 2}


class StepClock:
    """One second later at each look."""

    def __init__(self) -> None:
        self.present = 1_000

    def now(self) -> int:
        self.present += 1
        return self.present

    def sleep(self, seconds: int) -> None:
        self.present += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One forge and its repository; `acting_as` is the same forge in other hands.

    `parents` are those of the commit on main, by the ways to merge that the forge has.
    """

    kind: str
    forge: Forge
    repository: Repository
    acting_as: Callable[[str], Forge]
    require_reviews: Callable[[int], None]
    settled: Callable[[], None] = lambda: None  # the forge has worked on the pushes so far
    parents: Mapping[MergeMethod, int] = field(default_factory=lambda: PARENTS)

    def approve(self, number: int, reviewer: str) -> None:
        """Approve as a person does: gitbot itself approves on no forge."""
        forge = self.acting_as(reviewer)
        if isinstance(forge, LocalForge | MemoryForge):
            forge.approve_pull(number, reviewer=reviewer)
        if isinstance(forge, GiteaForge):
            self.settled()
            approve(forge, number)
        if isinstance(forge, GitLabForge):
            approve_on_gitlab(forge, number)
        if isinstance(forge, GitHubForge):
            path = f"/repos/{NAME}/pulls/{number}/reviews"
            review = {"event": "APPROVE", "commit_id": forge.get_pull(number).head}
            forge.api.write("approve", "POST", path, review, resolve=lambda: None)


@contextmanager
def stage(kind: str, folder: Path, server: Gitea | None = None) -> Iterator[Stage]:
    """A forge of that kind with a first commit on main; alice acts. Gitea needs its `server`."""
    maker = gitea_stage(server, folder) if server is not None else MAKERS[kind](folder)
    with maker as made:
        made.repository.write_commit(
            branch="main", expected=None, files={"base": b"0\n"}, message="start", time=1
        )
        made.settled()
        yield made


@contextmanager
def gitea_stage(server: Gitea, folder: Path) -> Iterator[Stage]:
    """A new repository of a running Gitea. Its clock is the machine's: it waits for the server."""
    name = server.add_repository("alice", "bob")

    def acting_as(login: str) -> Forge:
        api = GiteaApi.of(server.web, server.token(login), clock=SystemClock())
        return GiteaForge(api, repository=name, base_branch="main")

    def require_reviews(count: int) -> None:
        rule = {
            "rule_name": "main",
            "required_approvals": count,
            "dismiss_stale_approvals": True,
        }
        server.do(OWNER, "POST", f"/repos/{name}/branch_protections", rule)

    yield Stage(
        kind="gitea",
        forge=acting_as("alice"),
        repository=GitRepository.clone(
            f"{server.web}/{name}.git",
            folder / "mirror",
            access=lambda: token_access(server.web, server.token("alice")),
        ),
        acting_as=acting_as,
        require_reviews=require_reviews,
        settled=lambda: server.settle(name),
    )


def approve(forge: GiteaForge, number: int) -> None:
    """Approve the head, once Gitea has dismissed what a push made stale: it dismisses all."""
    head = forge.get_pull(number).head
    deadline = time.monotonic() + 30
    while forge.reviews_required and any(
        review.approved and review.commit != head for review in forge.get_pull(number).reviews
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    path = f"/repos/{forge.repository}/pulls/{number}/reviews"
    review = {"event": "APPROVED", "commit_id": head}
    forge.api.write("approve", "POST", path, review, resolve=lambda: None)


def approve_on_gitlab(forge: GitLabForge, number: int) -> None:
    """Approve the head. Who has approved an older one takes that back first."""
    path = f"/projects/{forge.repository.replace('/', '%2F')}/merge_requests/{number}"
    pull = forge.get_pull(number)
    if any(review.reviewer == forge.bot for review in pull.reviews):
        forge.api.write("unapprove", "POST", f"{path}/unapprove", {}, resolve=lambda: None)
    approval = {"sha": pull.head}
    forge.api.write("approve", "POST", f"{path}/approve", approval, resolve=lambda: None)


@contextmanager
def _local(folder: Path) -> Iterator[Stage]:
    bare = folder / "intents.git"
    forge = LocalForge.create(bare, clock=StepClock(), account="alice")
    yield Stage(
        kind="local",
        forge=forge,
        repository=GitRepository.clone(str(bare), folder / "mirror"),
        acting_as=forge.acting_as,
        require_reviews=forge.require_reviews,
    )


@contextmanager
def _memory(folder: Path) -> Iterator[Stage]:
    repository = MemoryRepository()
    forge = MemoryForge(repository, StepClock(), account="alice")
    yield Stage(
        kind="memory",
        forge=forge,
        repository=repository,
        acting_as=forge.acting_as,
        require_reviews=forge.require_reviews,
    )


@contextmanager
def _github(folder: Path) -> Iterator[Stage]:
    clock = StepClock()
    service = GitHub(folder / "service", clock=clock)
    bare = service.add_repository(NAME).git.directory
    for login in ("alice", "bob"):
        service.add_collaborator(NAME, login, "write")
    with Server(service) as server:

        def acting_as(login: str) -> Forge:
            credentials = Credentials(
                kind=CredentialKind.CLASSIC,
                api_url=server.api,
                token=service.personal_token(login),
            )
            forge = GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=clock)
            forge.require_reviews(required[0])
            return forge

        required = [0]

        def require_reviews(count: int) -> None:
            required[0] = count
            service.repository(NAME).protection["main"] = Protection(
                reviews=count, dismiss_stale=True
            )

        yield Stage(
            kind="github",
            forge=acting_as("alice"),
            repository=GitRepository.clone(str(bare), folder / "mirror"),
            acting_as=acting_as,
            require_reviews=require_reviews,
        )


@contextmanager
def gitlab_scene(folder: Path) -> Iterator[tuple[GitLab, Stage]]:
    """A project that merges with a merge commit, and keeps approvals when somebody pushes."""
    service = GitLab(folder / "service", clock=StepClock())
    project = service.add_project(DEEP)
    for login in ("alice", "bob"):
        service.add_member(DEEP, login, DEVELOPER)
    with GitLabServer(service) as server:

        def acting_as(login: str) -> GitLabForge:
            api = GitLabApi.of(server.url, service.token(login), clock=service.clock)
            return GitLabForge(api, repository=DEEP, base_branch="main")

        def require_reviews(count: int) -> None:
            project.approval_rules = count

        made = Stage(
            kind="gitlab",
            forge=acting_as("alice"),
            repository=GitRepository.clone(str(project.git.directory), folder / "mirror"),
            acting_as=acting_as,
            require_reviews=require_reviews,
            parents=GITLAB_PARENTS,
        )
        yield service, made


def _live(folder: Path) -> AbstractContextManager[Stage]:
    server = RunningGitLab(web=LIVE_GITLAB, administrator=os.environ["GITBOT_LIVE_TOKEN"])
    return live_gitlab_stage(server, folder)


@contextmanager
def live_gitlab_stage(server: RunningGitLab, folder: Path) -> Iterator[Stage]:
    """A new project of a running GitLab of any tier: gitbot itself asks for approvals."""
    name = server.add_project("alice", "bob")
    required: list[int | None] = [None]

    def acting_as(login: str) -> GitLabForge:
        api = GitLabApi.of(server.web, server.token(login), clock=SystemClock())
        forge = GitLabForge(api, repository=name, base_branch="main")
        forge.require_reviews(required[0])
        return forge

    def require_reviews(count: int) -> None:
        required[0] = count

    def settled() -> None:
        """GitLab has worked on each push: merge requests have the heads of their branches."""
        for pull in acting_as("alice").list_pulls(state=PullState.OPEN):
            deadline = time.monotonic() + 60
            while acting_as("alice").get_pull(pull.number).head != repository.resolve(pull.branch):
                assert time.monotonic() < deadline
                time.sleep(0.2)

    repository = GitRepository.clone(
        f"{server.web}/{name}.git",
        folder / "mirror",
        access=lambda: token_access(server.web, server.token("alice")),
    )
    yield Stage(
        kind="live-gitlab",
        forge=acting_as("alice"),
        repository=repository,
        acting_as=acting_as,
        require_reviews=require_reviews,
        settled=settled,
        parents=GITLAB_PARENTS,
    )


@contextmanager
def _gitlab(folder: Path) -> Iterator[Stage]:
    with gitlab_scene(folder) as (_, made):
        yield made


MAKERS: dict[str, Callable[[Path], AbstractContextManager[Stage]]] = {
    "local": _local,
    "memory": _memory,
    "github": _github,
    "gitlab": _gitlab,
    "live-gitlab": _live,
}
