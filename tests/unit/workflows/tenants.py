"""A repository with owners on each forge, and people with their own hands: ann, bob, dora, mallory.

ann and dora own namespace customapp (@acme/customapp), olga owns the nodes (@acme/platform).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ForgeError
from gitbot.ports.forge import Forge, MergeMethod, PullRequest
from gitbot.ports.repository import Repository
from gitbot.simulation.port import SimulatedPort
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.check import publish, refresh_pulls
from gitbot.workflows.core.context import RunContext
from tests.doubles import people
from tests.doubles.customapp import customapp
from tests.doubles.github import GitHub, Server
from tests.doubles.github.merging import notice
from tests.doubles.github.state import Principal
from tests.doubles.intents import HEAD, REQUEST
from tests.doubles.ledger import MemoryLedgerStore
from tests.unit.workflows.story import configuration

NAME = "acme/placement"
TEAM, PLATFORM = "@acme/customapp", "@acme/platform"
PEOPLE = ("ann", "bob", "dora", "gitbot", "mallory", "olga", "renovate[bot]")
TEAMS = {TEAM: ("ann", "dora", "gitbot"), PLATFORM: ("olga",)}
OWNERS = f"""  owners:
  - paths: [intents/iberia]
    namespaces: ['*']
    nodes: {{names: ['*']}}
    zones: ['*']
    teams: ['{PLATFORM}']
  - paths: [intents/iberia/customapp]
    namespaces: [customapp]
    teams: ['{TEAM}']
"""
FILE = "intents/iberia/customapp/jump.yaml"
AWAY = f"""{HEAD}kind: MigrationRequest
metadata: {{name: jump, namespace: customapp}}
spec:
  vms: {{names: [jumpbox]}}
  reason: Maintenance
"""
KINDS = ("local", "github")
NAMED = REQUEST  # names kni-worker5


@dataclass(kw_only=True)
class Tenants:
    """One forge with people; `approve`, `dismiss` and `team` are what they do there."""

    kind: str
    port: SimulatedPort
    repository: Repository
    forge: Forge
    acting_as: Callable[[str], Forge]
    team: Callable[..., None]
    demote: Callable[[str], None]
    review: Callable[[int, str, str, str], None]  # number, account, event, head
    dismiss: Callable[[int, str], None]
    fork: Callable[[str, str, dict[str, str]], int]  # author, branch, files
    pushed: Callable[[str], None]  # the account that pushed what is new; local pushes have none
    store: MemoryLedgerStore = field(default_factory=MemoryLedgerStore)

    @property
    def shell(self) -> RunContext:
        self.repository.fetch()
        return RunContext(
            cluster_name="iberia",
            base_branch="main",
            repository=self.repository,
            forge=self.forge,
            ledger_store=self.store,
            cluster=self.port,
            clock=self.port,
            read_base=base_branch(self.repository, name="main", cluster="iberia").at,
        )

    def commit(self, branch: str, files: dict[str, str]) -> str:
        self.repository.fetch()
        head = self.repository.resolve(branch)
        main = self.repository.resolve("main")
        return self.repository.write_commit(
            branch=branch,
            expected=head,
            files={path: text.encode() for path, text in files.items()},
            message="work",
            time=self.port.now(),
            parents=(main,) if head is None and main else None,
        )

    def open(self, author: str, files: dict[str, str], *, branch: str = "work") -> PullRequest:
        """Somebody opens a pull request, and gitbot shows its plan."""
        self.commit(branch, files)
        self.pushed(author)
        pull = self.acting_as(author).open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )
        self.publish(pull.number)
        return pull

    def publish(self, number: int) -> None:
        self.port.sleep(1)
        publish(self.shell, number=number)
        self.port.sleep(1)

    def refresh(self) -> None:
        self.port.sleep(61)
        refresh_pulls(self.shell)

    def approve(self, number: int, account: str, *, head: str = "") -> None:
        self.port.sleep(1)
        self.review(number, account, "APPROVE", head or self.forge.get_pull(number).head)
        self.port.sleep(1)

    def merge(
        self, number: int, by: str = "bob", *, method: MergeMethod = MergeMethod.MERGE
    ) -> PullRequest:
        self.port.sleep(1)
        head = self.forge.get_pull(number).head
        merged = self.acting_as(by).merge_pull(number, method=method, expected_head=head)
        self.port.sleep(1)
        return merged

    def apply(self) -> ApplyResult:
        self.port.sleep(61)  # what the forge said is asked again
        return apply(self.shell)

    def where(self) -> str:
        for vmi in self.port.snapshot().of("VirtualMachineInstance"):
            if vmi["metadata"]["name"] == "jumpbox":
                return str(vmi["status"]["nodeName"])
        raise AssertionError("the jumpbox is gone")

    def check(self, number: int, name: str) -> tuple[str, str]:
        head = self.forge.get_pull(number).head
        for status in self.forge.list_statuses(head):
            if status.context == name:
                return str(status.state), status.description
        return "", ""

    def comment(self, number: int) -> str:
        (body,) = (c.body for c in self.forge.list_comments(number) if "gitbot:plan" in c.body)
        return body


def commit_on_main(
    repository: Repository, branch: str, files: dict[str, str], port: SimulatedPort
) -> None:
    main = repository.resolve("main")
    repository.write_commit(
        branch=branch,
        expected=None,
        files={path: text.encode() for path, text in files.items()},
        message="work",
        time=port.now(),
        parents=(main,) if main else None,
    )


@contextmanager
def tenants(kind: str, folder: Path, *, owners: str = OWNERS, **files: str) -> Iterator[Tenants]:
    port = SimulatedPort(customapp(step=2, jumpbox=True))
    maker = {"local": _local, "github": _github}[kind]
    with maker(folder, port) as made:
        for team, members in TEAMS.items():
            made.team(team, *members)
        texts = {".gitbot.yaml": configuration(owners), **files}
        made.commit("main", texts)
        made.port.sleep(1)
        yield made


@contextmanager
def _local(folder: Path, port: SimulatedPort) -> Iterator[Tenants]:
    bare = folder / "intents.git"
    forge = LocalForge.create(bare, clock=port)
    readers: list[str] = []

    def demote(account: str) -> None:
        readers.append(account)
        people.refuse_writing(forge, *readers)

    def review(number: int, account: str, event: str, head: str) -> None:
        if event == "APPROVE":
            forge.approve_pull(number, reviewer=account, head=head)

    mirror = GitRepository.clone(str(bare), folder / "mirror")

    def fork(author: str, branch: str, files: dict[str, str]) -> int:
        """A bare repository has no forks: who may only read pushes a branch of their own clone."""
        demote(author)
        mine = GitRepository.clone(str(bare), folder / f"clone-{author}")
        commit_on_main(mine, branch, files, port)
        pull = forge.acting_as(author).open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )
        return pull.number

    yield Tenants(
        fork=fork,
        pushed=lambda _: None,
        kind="local",
        port=port,
        repository=mirror,
        forge=forge,
        acting_as=forge.acting_as,
        team=lambda team, *members: forge.name_team(team, members),
        demote=demote,
        review=review,
        dismiss=lambda number, account: people.dismiss_review(forge, number, reviewer=account),
    )


@contextmanager
def _github(folder: Path, port: SimulatedPort) -> Iterator[Tenants]:
    service = GitHub(folder / "service", clock=port)
    bare = service.add_repository(NAME).git.directory
    for login in PEOPLE:
        service.add_collaborator(NAME, login, "write")

    def team(name: str, *members: str) -> None:
        service.set_team(name.removeprefix("@"), *members)

    with Server(service) as server:

        def acting_as(login: str) -> GitHubForge:
            credentials = Credentials(
                kind=CredentialKind.CLASSIC,
                api_url=server.api,
                token=service.personal_token(login),
            )
            return GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=port)

        def ask(login: str, method: str, path: str, body: Any) -> Any:
            answer = service.ask(service.personal_token(login), method, path, body)
            if answer.code >= 400:
                raise ForgeError(str(answer.body))
            return answer.body

        def review(number: int, account: str, event: str, head: str) -> None:
            path = f"/repos/{NAME}/pulls/{number}/reviews"
            ask(account, "POST", path, {"event": event, "commit_id": head})

        def dismiss(number: int, account: str) -> None:
            for found in service.repository(NAME).reviews.values():
                if found.number == number and found.user == account:
                    path = f"/repos/{NAME}/pulls/{number}/reviews/{found.id}/dismissals"
                    ask("bob", "PUT", path, {"message": "not now"})

        def fork(author: str, branch: str, files: dict[str, str]) -> int:
            service.add_account(author)
            mine = service.fork(NAME, author)
            made = GitRepository.clone(str(mine.git.directory), folder / f"fork-{author}")
            commit_on_main(made, branch, files, port)
            pull = {"title": branch, "head": f"{author}:{branch}", "base": "main"}
            return int(ask(author, "POST", f"/repos/{NAME}/pulls", pull)["number"])

        yield Tenants(
            fork=fork,
            pushed=lambda login: notice(service, Principal(kind="user", login=login)),
            kind="github",
            port=port,
            repository=GitRepository.clone(str(bare), folder / "mirror"),
            forge=acting_as("gitbot"),
            acting_as=acting_as,
            team=team,
            demote=lambda login: service.add_collaborator(NAME, login, "read"),
            review=review,
            dismiss=dismiss,
        )
