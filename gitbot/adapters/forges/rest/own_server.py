"""Which server of the owner's, with which token, and which repository on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.adapters.environment import is_url, secret
from gitbot.adapters.forges.rest.git_access import repository_in
from gitbot.errors import UsageError

UNNAMED = "origin"  # the default of forge.repository


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """A forge that its owner runs. `variable` starts the names of its variables.

    `path` is how a repository is named there; `deep` ones are in groups of any depth.
    """

    name: str
    variable: str
    path: str = "owner/name"
    deep: bool = False

    def address_in(self, environment: Mapping[str, str], configured: str) -> str:
        """The server's address. Raises UsageError.

        The environment has the token, so its address wins over no other: a configuration that
        names another server would receive the token.
        """
        variable = f"{self.variable}_URL"
        given = (environment.get(variable) or "").rstrip("/")
        wanted = configured.rstrip("/")
        if given and wanted and given != wanted:
            raise UsageError(
                f"{variable} is {given}, but forge.address is {wanted}",
                hint="the token is for one server only: make both the same, or remove one",
            )
        address = given or wanted
        if not is_url(address) or "@" in address:
            found = f"found the address {address!r} of {self.name}"
            raise UsageError(
                found if address else f"{self.name} has no address",
                hint=f"set forge.address or {variable}, such as https://git.example.org",
            )
        return address

    def token_in(self, environment: Mapping[str, str], *, instead: str = "") -> str:
        """The token of gitbot's account. Raises UsageError; `instead` says what it found."""
        variable = f"{self.variable}_TOKEN"
        token = secret(environment, variable)
        if not token.strip():
            raise UsageError(
                f"gitbot has nothing to act with on {self.name}{instead}",
                hint=f"set {variable}_FILE to a file with a token of gitbot's account",
            )
        return token.strip()

    def repository_in(self, named: str, origin: str) -> str:
        """The configured repository, else the one that `origin` points to. Raises UsageError."""
        repository = repository_in(origin, deep=self.deep) if named == UNNAMED else named
        if not repository:
            raise UsageError(
                f"which repository on {self.name} is meant is not said",
                hint=f"set forge.repository to {self.path}",
            )
        return repository
