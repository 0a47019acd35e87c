"""Opens a repository on GitHub: which one, with which permissions, and Git's access to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.credentials import read_credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.rest.git_access import remote_of, repository_in, token_access
from gitbot.adapters.git import Access
from gitbot.errors import UsageError
from gitbot.ports.clock import Clock

UNNAMED = "origin"  # the default of forge.repository


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub:
    """A repository on GitHub: the forge, the address that Git uses, and Git's access."""

    forge: GitHubForge
    remote: str
    access: Callable[[], Access]

    @property
    def connection(self) -> Connection:
        def opened(required: int | None, _account: str, _clock: Clock) -> GitHubForge:
            self.forge.require_reviews(required)
            return self.forge

        return Connection(remote=self.remote, access=self.access, forge=opened)


def open_github(
    *,
    named: str,
    origin: str,
    base_branch: str,
    clock: Clock,
    environment: Mapping[str, str] | None = None,
) -> GitHub:
    """Open `named` (owner/name), else what Actions names, else what `origin` points to.

    `origin` is the address of the clone's remote, "" without one. Raises UsageError, ForgeError.
    """
    known = os.environ if environment is None else environment
    credentials = read_credentials(known)
    repository = named
    if named == UNNAMED:
        repository = known.get("GITHUB_REPOSITORY") or repository_in(origin)
        if not repository:
            raise UsageError(
                "which repository on GitHub is meant is not said",
                hint="set forge.repository to owner/name",
            )
    forge = GitHubForge.of(credentials, repository=repository, base_branch=base_branch, clock=clock)
    return GitHub(
        forge=forge,
        remote=remote_of(credentials.web_url, repository),
        access=lambda: access_of(forge.api),
    )


def access_of(api: GitHubApi) -> Access:
    return token_access(api.credentials.web_url, api.token())
