"""What every rule of the double works on: the clock, the state, and events that others hear."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from gitbot.ports.clock import Clock
from tests.doubles.canaries import plant
from tests.doubles.github.events import Event
from tests.doubles.github.limits import Limits
from tests.doubles.github.links import Links
from tests.doubles.github.state import Account, Principal, Repository, State


class Core:
    """GitHub without its rules: they work on it, and it knows none of them.

    `hearers` are told of every event. Addresses in answers start with `api` and `html` of `links`.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self.folder = folder
        self.clock = clock
        self.links = Links(api="http://localhost/api/v3", html="http://localhost")
        self.state = State()
        self.events: list[Event] = []
        self.hearers: list[Callable[[Event], object]] = []
        self.limits = Limits()

    def new_id(self) -> int:
        """A number that nothing else has."""
        self.state.last_id += 1
        return self.state.last_id

    def add_account(self, login: str, *, kind: str = "User") -> Account:
        """A person, organization or bot; the same one where it exists."""
        known = self.state.accounts.get(login)
        if known is None:
            known = self.state.accounts[login] = Account(login=login, id=self.new_id(), kind=kind)
        return known

    def repository(self, full_name: str) -> Repository:
        """A repository by `owner/name`."""
        return self.state.repositories[full_name.lower()]

    def new_token(self, prefix: str, principal: Principal) -> str:
        """A token that nobody could guess, the same in every run."""
        seed = f"{prefix} {self.new_id()} {principal.login}"
        token = f"{prefix}_{hashlib.sha256(seed.encode()).hexdigest()[:36]}"
        self.state.tokens[token] = principal
        return plant(token)

    def role(self, repository: Repository, login: str) -> str:
        """The role of somebody; the owner is admin, everybody reads what is public."""
        if login == repository.owner:
            return "admin"
        return repository.collaborators.get(login) or ("none" if repository.private else "read")

    def installed(self, installation_id: int, repository: Repository) -> bool:
        """Whether an installation covers a repository."""
        found = self.state.installations.get(installation_id)
        return (
            found is not None
            and found.account == repository.owner
            and (not found.repositories or repository.full_name in found.repositories)
        )

    def publish(self, event: Event) -> None:
        """Let something have happened: it is kept, and workflows that wait for it start."""
        self.events.append(event)
        for hear in self.hearers:
            hear(event)
