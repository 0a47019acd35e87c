"""The local forge: pull requests as refs and files in a bare Git repository."""

from __future__ import annotations

from pathlib import Path

from gitbot.adapters.forges.forge_type import Connection, ForgeType
from gitbot.adapters.forges.local.setup import CAPABILITIES, SETUP

__all__ = ["LOCAL", "at_address"]


def _connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:  # noqa: ARG001
    from gitbot.adapters.forges.local.connect import connect  # noqa: PLC0415 - one forge a run

    return connect(root, repository=repository, base_branch=base_branch)


def at_address(remote: str) -> Connection:
    """A repository without any configuration, such as a copy of the forge's."""
    from gitbot.adapters.forges.local import connect  # noqa: PLC0415 - one forge a run

    return connect.at_address(remote)


LOCAL = ForgeType(
    title="the local forge",
    capabilities=CAPABILITIES,
    connect=_connect,
    setup=SETUP,
)
