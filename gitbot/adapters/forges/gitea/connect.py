"""Opens a repository on Gitea: which server, with which token, and Git's access to it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.rest.environment import in_file, is_url, read_file
from gitbot.adapters.forges.rest.git_access import remote_of, repository_in, token_access
from gitbot.errors import UsageError
from gitbot.ports.clock import Clock

TOKEN = "GITBOT_GITEA_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE = "GITBOT_GITEA_TOKEN_FILE"  # noqa: S105 - the name of a variable
ADDRESS = "GITBOT_GITEA_URL"
UNNAMED = "origin"  # the default of forge.repository


def open_gitea(
    *,
    address: str,
    named: str,
    origin: str,
    base_branch: str,
    clock: Clock,
    environment: Mapping[str, str] | None = None,
) -> Connection:
    """Open `named` (owner/name), else what `origin` points to. Raises UsageError."""
    known = os.environ if environment is None else environment
    web = address_in(known, address)
    token = (known.get(TOKEN) or in_file(known, TOKEN_FILE, read_file)).strip()
    if not token:
        raise UsageError(
            "gitbot has nothing to act with on Gitea",
            hint=f"set {TOKEN_FILE} to a file with a token of gitbot's account",
        )
    repository = repository_in(origin) if named == UNNAMED else named
    if not repository:
        raise UsageError(
            "which repository on Gitea is meant is not said",
            hint="set forge.repository to owner/name",
        )
    api = GiteaApi.of(web, token, clock=clock)
    forge = GiteaForge(api, repository=repository, base_branch=base_branch)

    def opened(required: int | None, _account: str, _clock: Clock) -> GiteaForge:
        forge.require_reviews(required)
        return forge

    return Connection(
        remote=remote_of(web, repository), access=lambda: token_access(web, token), forge=opened
    )


def address_in(environment: Mapping[str, str], configured: str) -> str:
    """The server's address. Raises UsageError.

    The environment has the token, so its address wins over no other: a configuration that names
    another server would receive the token.
    """
    given = (environment.get(ADDRESS) or "").rstrip("/")
    wanted = configured.rstrip("/")
    if given and wanted and given != wanted:
        raise UsageError(
            f"{ADDRESS} is {given}, but forge.address is {wanted}",
            hint="the token is for one server only: make both the same, or remove one",
        )
    address = given or wanted
    if not is_url(address) or "@" in address:
        raise UsageError(
            f"found the address {address!r} of Gitea" if address else "Gitea has no address",
            hint=f"set forge.address or {ADDRESS}, such as https://git.example.org",
        )
    return address
