"""Branches of the bot: one file each, never pushed over a person's commit."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.errors import ConflictError
from gitbot.execution.state import ConcernRecord
from gitbot.workflows.shell import Shell


def is_own_head(shell: Shell, head: str, record: ConcernRecord) -> bool:
    """Whether the head of a branch is a commit of gitbot's own.

    A head that the ledger does not know (a run died between push and ledger) counts by its author.
    """
    if head in record.commits:
        return True
    return shell.repository.commit(head).author == shell.forge.bot


def push_files(
    shell: Shell,
    *,
    branch: str,
    base: str,
    files: Mapping[str, bytes | None],
    message: str,
    expected: str | None = None,
) -> str:
    """Put files onto a branch (or remove them, None); returns the new head.

    A branch that does not exist starts at `base`; a leftover of an earlier run is replaced where
    it is gitbot's own.
    """
    now = shell.clock.now()
    if expected is not None:
        return shell.repository.write_commit(
            branch=branch, expected=expected, files=files, message=message, time=now
        )
    left = shell.repository.resolve(branch)
    if left is not None:
        if not is_own_head(shell, left, ConcernRecord(concern="")):
            raise ConflictError(f"branch {branch} holds somebody's commits", hint="remove it")
        shell.repository.delete_branch(branch, expected=left)
    return shell.repository.write_commit(
        branch=branch, expected=None, files=files, message=message, time=now, parents=(base,)
    )


def remove_branch(shell: Shell, branch: str, record: ConcernRecord) -> None:
    """Remove a branch that is done with, where nobody else pushed to it."""
    head = shell.repository.resolve(branch)
    if head is not None and is_own_head(shell, head, record):
        shell.repository.delete_branch(branch, expected=head)
