"""The base branch as a pass uses it: while its tip has errors, the newest commit without any.

What has begun is observed and recalled on that commit; nothing starts, and no node is written.
"""

from __future__ import annotations

from gitbot.errors import InvalidInput
from gitbot.model.ledger import Ledger
from gitbot.workflows.engine import Engine
from gitbot.workflows.look import readable_base
from gitbot.workflows.rewritten import check_history
from gitbot.workflows.shell import Shell

Tip = tuple[Engine, InvalidInput | None]


def read_tip(shell: Shell, ledger: Ledger, head: str, *, start: bool) -> Tip:
    """The base at its tip `head`, and what is wrong with it.

    Raises RepositoryError for a rewritten base if something shall start, and InvalidInput if none
    of its newest commits can be read.
    """
    if start:
        check_history(shell, ledger, head)
    try:
        return shell.read_base(head), None
    except InvalidInput as error:
        return readable_base(shell).engine, error


def broken_stop(shell: Shell, broken: InvalidInput | None) -> str:
    """Why nothing may start on this tip, or ""."""
    return f"{shell.base_branch} has errors: {str(broken).splitlines()[0]}" if broken else ""
