"""Whether the cluster is well enough for the next node of a window."""

from __future__ import annotations

from gitbot.execution.executor_types import Approved
from gitbot.execution.ledger_folds import begins_nodes_now
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine


def closed_gate(
    shell: RunContext, base: RevisionEngine, ledger: Ledger, approved: tuple[Approved, ...]
) -> str:
    """Why no node may begin, by the gates that are configured; "" if one may.

    Nothing is asked unless a window is open and has a node that has not begun.
    """
    own = base.settings.cluster(shell.cluster_name)
    if own is None or not own.health_gates or shell.health is None:
        return ""
    now, name = shell.clock.now(), shell.cluster_name
    if not any(begins_nodes_now(ledger, item, cluster=name, now=now) for item in approved):
        return ""
    answers = (shell.health(gate) for gate in own.health_gates)
    return next(filter(None, answers), "")
