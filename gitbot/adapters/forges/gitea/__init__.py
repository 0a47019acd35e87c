"""The Forge port on Gitea, and on Forgejo as far as its API is the same.

A small client of the standard library sends; `rest` decides what to read, repeat and cut. Gitea
has no check runs and no merge queue: commit statuses replace the first, nothing the second.
"""

from __future__ import annotations

from pathlib import Path

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.forge_type import Connection, ForgeType
from gitbot.adapters.forges.gitea.setup import CAPABILITIES, SETUP

__all__ = ["GITEA"]


def _connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:
    """Gitea with the token of the environment. Waits take real time."""
    from gitbot.adapters.forges.gitea.connect import open_gitea  # noqa: PLC0415 - one forge a run
    from gitbot.adapters.git import remote_address  # noqa: PLC0415

    return open_gitea(
        address=address,
        named=repository,
        origin=remote_address(root, "origin"),
        base_branch=base_branch,
        clock=SystemClock(),
    )


GITEA = ForgeType(title="Gitea", capabilities=CAPABILITIES, connect=_connect, setup=SETUP)
