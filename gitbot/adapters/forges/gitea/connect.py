"""Opens a repository on Gitea: which server, with which token, and Git's access to it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.rest.git_access import remote_of, token_access
from gitbot.adapters.forges.rest.own_server import OwnServer
from gitbot.ports.clock import Clock

SERVER = OwnServer(name="Gitea", variable="GITBOT_GITEA")


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
    web, token = SERVER.address_in(known, address), SERVER.token_in(known)
    repository = SERVER.repository_in(named, origin)
    api = GiteaApi.of(web, token, clock=clock)
    forge = GiteaForge(api, repository=repository, base_branch=base_branch)

    def opened(required: int | None, _account: str, _clock: Clock) -> GiteaForge:
        forge.require_reviews(required)
        return forge

    return Connection(
        remote=remote_of(web, repository), access=lambda: token_access(web, token), forge=opened
    )
