"""Opens a repository on GitHub: which one, with which permissions, and Git's access to it."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.credentials import read_credentials
from gitbot.adapters.forges.github.forge import GitHubForge
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


# https://host/owner/name(.git), git@host:owner/name(.git), ssh://git@host/owner/name(.git)
_ADDRESS = re.compile(r"(?:https?://|ssh://|git@)(?:[^@/]*@)?([^/:]+)(?::\d+)?[/:](.+)")


def remote_of(web_url: str, repository: str) -> str:
    return f"{web_url}/{repository}.git"


def repository_in(address: str) -> str:
    """`owner/name` in a remote's address; "" if it has none."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None:
        return ""
    path = found.group(2).strip("/").removesuffix(".git")
    return path if path.count("/") == 1 else ""


def access_of(api: GitHubApi) -> Access:
    """Git's access to this GitHub. The token exists in one process only.

    Redirects are refused: the token is for this host only.
    """
    web = api.credentials.web_url
    pair = base64.b64encode(f"x-access-token:{api.token()}".encode()).decode()
    protocols = "file:https:ssh" + (":http" if urlsplit(web).scheme == "http" else "")
    return Access(
        configuration={
            f"http.{web}/.extraheader": f"Authorization: Basic {pair}",
            "http.followRedirects": "false",
            "credential.helper": "",
        },
        protocols=protocols,
    )
