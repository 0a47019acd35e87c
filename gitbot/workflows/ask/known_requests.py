"""Ids of requests that exist without a line in the ledger: approved, written, or still to come."""

from __future__ import annotations

from gitbot.execution.ledger_folds import occurrences_of
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import MigrationRequestId, RequestId
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import readable_base


def known_requests(shell: RunContext, ledger: Ledger) -> frozenset[RequestId]:
    """The ids that a status may show beside those of the ledger. Reads no cluster."""
    base = readable_base(shell).engine
    approved: set[RequestId] = {item.id for item in read_approvals(shell, base, ledger).approved}
    written = {MigrationRequestId.of(intent.ref) for intent, _ in base.intents.migration_requests}
    now = shell.clock.now()
    openings = {
        opening.drain
        for intent, spec in base.intents.maintenance_windows
        if spec.nodes is not None and (opening := base.opening(intent, now=now)) is not None
    }
    begun = occurrences_of(ledger, shell.cluster_name)
    ours = {name for item in begun for name in (item.drain, item.homecoming)}
    return frozenset(approved | written | openings | ours)
