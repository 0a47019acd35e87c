"""Whether a request whose moves have all ended goes on: then it is not finished for a person."""

from __future__ import annotations

from gitbot.execution.ledger_folds import has_nodes_to_begin, has_nodes_to_drain
from gitbot.execution.request_records import RequestRecord
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import readable_base


def has_remaining_work(shell: RunContext, ledger: Ledger, record: RequestRecord) -> bool:
    """Whether a node of it drains, or a plan has more for it that a pass has not begun.

    The forge is asked if the ledger does not say so: its rest may be merged since the last pass.
    """
    cluster, now = shell.cluster_name, shell.clock.now()
    if has_nodes_to_drain(ledger, record, cluster=cluster, now=now):
        return True
    approved = read_approvals(shell, readable_base(shell).engine, ledger).approved
    return any(
        any(move.id > record.highest_move for move in item.moves)
        or has_nodes_to_begin(ledger, item, cluster=cluster, now=now)
        for item in approved
        if item.id == record.id and not item.terms.void
    )
