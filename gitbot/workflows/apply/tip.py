"""The base branch as a pass uses it: while its tip has errors, the newest commit without any.

What has begun is observed and recalled on that commit, as on the tip of a base that was rewritten;
nothing starts, and no node is written.
"""

from __future__ import annotations

from gitbot.errors import InvalidInput, RepositoryError
from gitbot.model.ledger import Ledger
from gitbot.workflows.engine import Engine
from gitbot.workflows.look import readable_base
from gitbot.workflows.rewritten import rewritten
from gitbot.workflows.shell import Shell

Trouble = InvalidInput | RepositoryError


def read_tip(shell: Shell, ledger: Ledger, head: str) -> tuple[Engine, Trouble | None]:
    """The base at its tip `head`, and what is wrong with it.

    Raises InvalidInput if none of its newest commits can be read.
    """
    lost = rewritten(shell, ledger, head)
    try:
        return shell.read_base(head), lost
    except InvalidInput as error:
        return readable_base(shell).engine, lost or error


def broken_stop(shell: Shell, broken: Trouble | None) -> str:
    """Why nothing may start on this tip, or ""."""
    if isinstance(broken, InvalidInput):
        return f"{shell.base_branch} has errors: {str(broken).splitlines()[0]}"
    return str(broken or "")
