"""Opens a project on GitLab: which server, with which token, and Git's access to it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.gitlab.api import GitLabApi
from gitbot.adapters.forges.gitlab.forge import GitLabForge
from gitbot.adapters.forges.rest.git_access import remote_of, token_access
from gitbot.adapters.forges.rest.own_server import OwnServer
from gitbot.ports.clock import Clock

SERVER = OwnServer(name="GitLab", variable="GITBOT_GITLAB", path="group/project", deep=True)


def open_gitlab(
    *,
    address: str,
    named: str,
    origin: str,
    base_branch: str,
    clock: Clock,
    environment: Mapping[str, str] | None = None,
) -> Connection:
    """Open `named` (group/project), else what `origin` points to. Raises UsageError."""
    known = os.environ if environment is None else environment
    web = SERVER.address_in(known, address)
    # GitLab lets a job's token neither write notes and statuses nor open merge requests
    in_job = ": CI_JOB_TOKEN may not open or comment on merge requests"
    token = SERVER.token_in(known, instead=in_job if known.get("CI_JOB_TOKEN") else "")
    repository = SERVER.repository_in(named, origin)
    api = GitLabApi.of(web, token, clock=clock)
    forge = GitLabForge(api, repository=repository, base_branch=base_branch)

    def opened(required: int | None, _account: str, _clock: Clock) -> GitLabForge:
        forge.require_reviews(required)
        return forge

    return Connection(
        remote=remote_of(web, repository), access=lambda: token_access(web, token), forge=opened
    )
