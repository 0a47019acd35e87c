"""The base branch as a pass uses it: while its tip has errors, the newest commit without any.

What has begun is observed and recalled on that commit, as on the tip of a base that was rewritten;
nothing starts, and no node is written.
"""

from __future__ import annotations

from gitbot.errors import InvalidInput, RepositoryError
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.approval.base_history import history_error
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.current_state import readable_base

Trouble = InvalidInput | RepositoryError


def read_tip(shell: RunContext, ledger: Ledger, head: str) -> tuple[RevisionEngine, Trouble | None]:
    """The base at its tip `head`, and what is wrong with it.

    Raises InvalidInput if none of its newest commits can be read.
    """
    lost = history_error(shell, ledger, head)
    try:
        return shell.read_base(head), lost
    except InvalidInput as error:
        return readable_base(shell).engine, lost or error


def broken_stop(shell: RunContext, broken: Trouble | None) -> str:
    """Why nothing may start on this tip, or ""."""
    if isinstance(broken, InvalidInput):
        return f"{shell.base_branch} has errors: {str(broken).splitlines()[0]}"
    return str(broken or "")
