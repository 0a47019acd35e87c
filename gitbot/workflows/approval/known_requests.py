"""Requests that exist without a line in the ledger: approved, written, or still to come."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.execution.ledger_folds import occurrences_of
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import MigrationRequestId, RequestId
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlanned:
    """A request on the base branch without an approved plan, and why."""

    request: RequestId
    reason: str
    next_command: str = ""


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
