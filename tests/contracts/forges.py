"""The forges that the contract of the Forge port is held on, each with a repository beside it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.forges.rest.git_access import token_access
from gitbot.adapters.git.repository import GitRepository
from gitbot.ports.forge import Forge
from gitbot.ports.repository import Repository
from tests.doubles.forge import MemoryForge
from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import Protection
from tests.doubles.repository import MemoryRepository
from tests.forge.gitea.server import OWNER, Gitea

DOUBLES = ("local", "memory", "github")
REAL = pytest.param("gitea", marks=(pytest.mark.forge, pytest.mark.xdist_group("gitea")))
NAME = "acme/placement"


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
    """One forge and its repository; `acting_as` is the same forge in other hands."""

    kind: str
    forge: Forge
    repository: Repository
    acting_as: Callable[[str], Forge]
    require_reviews: Callable[[int], None]
    settled: Callable[[], None] = lambda: None  # the forge has worked on the first push

    def approve(self, number: int, reviewer: str) -> None:
        """Approve as a person does: gitbot itself approves on no forge."""
        forge = self.acting_as(reviewer)
        if isinstance(forge, LocalForge | MemoryForge):
            forge.approve_pull(number, reviewer=reviewer)
        if isinstance(forge, GiteaForge):
            approve(forge, number)
        if isinstance(forge, GitHubForge):
            path = f"/repos/{NAME}/pulls/{number}/reviews"
            review = {"event": "APPROVE", "commit_id": forge.get_pull(number).head}
            forge.api.write("approve", "POST", path, review, resolve=lambda: None)


@contextmanager
def stage(kind: str, folder: Path, server: Gitea | None = None) -> Iterator[Stage]:
    """A forge of that kind with a first commit on main; alice acts. Gitea needs its `server`."""
    if server is not None:
        maker = gitea_stage(server, folder)
    else:
        maker = {"local": _local, "memory": _memory, "github": _github}[kind](folder)
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

    def settled() -> None:
        while server.do(OWNER, "GET", f"/repos/{name}")["empty"]:
            time.sleep(0.05)

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
        settled=settled,
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
