"""Where the bare repository of a local forge is."""

from __future__ import annotations

from pathlib import Path

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git import Git, check_ref, no_access, remote_address
from gitbot.errors import UsageError
from gitbot.ports.clock import Clock
from gitbot.ports.forge import Forge


def connect(root: Path, *, repository: str, base_branch: str) -> Connection:  # noqa: ARG001
    """The bare repository: a path as written, or the address of a remote's name."""
    return at_address(_remote(root, repository.removeprefix("file://")))


def at_address(remote: str) -> Connection:
    """A repository without any configuration, such as a copy of the forge's."""

    def opened(required: int | None, account: str, clock: Clock) -> Forge:
        directory = Path(remote)
        inner = directory / ".git"
        place = inner if inner.is_dir() else directory
        return LocalForge(place, clock=clock, account=account, required=required)

    return Connection(remote=remote, access=no_access, forge=opened)


def _remote(root: Path, named: str) -> str:
    if "/" in named or (root / named).is_dir():
        return str((root / named).resolve())
    name = check_ref(named)
    address = remote_address(root, name).removeprefix("file://")
    if not address and Git.of_work_tree(root).attempt(["rev-parse", "--git-dir"])[0] != 0:
        raise UsageError(
            f"{root} is not a Git repository",
            hint="run gitbot in a clone of the intents repository, or make it one: `git init`, "
            f"commit, add the remote {name}, push",
        )
    if not address:
        raise UsageError(
            f"{root} has no remote {name}",
            hint="run gitbot in a clone of the intents repository, or set forge.repository",
        )
    return str((root / address).resolve()) if (root / address).exists() else address
