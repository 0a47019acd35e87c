"""The forges that the contract of the Forge port is held on, each with a repository beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.repository import GitRepository
from gitbot.ports.forge import Forge
from gitbot.ports.repository import Repository
from tests.doubles.forge import MemoryForge
from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import Protection
from tests.doubles.repository import MemoryRepository

KINDS = ("local", "memory", "github")
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

    def approve(self, number: int, reviewer: str) -> None:
        """Approve as a person does: gitbot itself approves on no forge."""
        forge = self.acting_as(reviewer)
        if isinstance(forge, LocalForge | MemoryForge):
            forge.approve_pull(number, reviewer=reviewer)
        if isinstance(forge, GitHubForge):
            path = f"/repos/{NAME}/pulls/{number}/reviews"
            review = {"event": "APPROVE", "commit_id": forge.get_pull(number).head}
            forge.api.write("approve", "POST", path, review, resolve=lambda: None)


@contextmanager
def stage(kind: str, folder: Path) -> Iterator[Stage]:
    """A forge of that kind with a first commit on main; alice acts."""
    makers = {"local": _local, "memory": _memory, "github": _github}
    with makers[kind](folder) as made:
        made.repository.write_commit(
            branch="main", expected=None, files={"base": b"0\n"}, message="start", time=1
        )
        yield made


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
