"""Ask: what is going on, for people. This room never changes the cluster or the ledger.

`status` shows what runs, what waits and what failed; `clusters_listing` shows all clusters from
what they published; `history` finds lines of the ledger;
`write_dashboard` keeps one issue up to date, `write_object_events` writes
Kubernetes Events. `cluster_checks`, `repository_checks` and
`rights_checks` find what would keep gitbot from working, for doctor.
"""

from __future__ import annotations

from gitbot.workflows.approval.known_requests import NotPlanned
from gitbot.workflows.ask.calendar_document import calendar_document
from gitbot.workflows.ask.dashboard import write_dashboard
from gitbot.workflows.ask.doctor import Questions, cluster_checks, repository_checks, rights_checks
from gitbot.workflows.ask.filter import status_in
from gitbot.workflows.ask.fleet import clusters_listing
from gitbot.workflows.ask.foreign_movers import NotedObject
from gitbot.workflows.ask.history import (
    Query,
    history,
    moves_of,
    of_labels,
    past_move,
    unknown_names,
    verified,
)
from gitbot.workflows.ask.ledger_metrics import ledger_metrics
from gitbot.workflows.ask.listing import Listing, listing, listing_document, name_of_row
from gitbot.workflows.ask.maintenance import NodeStatus
from gitbot.workflows.ask.next_openings import NextOpening
from gitbot.workflows.ask.node_vm_rows import Row
from gitbot.workflows.ask.object_events import write_object_events
from gitbot.workflows.ask.open_pulls import changing_intents
from gitbot.workflows.ask.proof import prove
from gitbot.workflows.ask.site import documents_of_pass, site_documents
from gitbot.workflows.ask.status import RequestStatus, StatusResult, look_at_all, status
from gitbot.workflows.ask.status_document import status_document
from gitbot.workflows.ask.wait import Awaited, WaitProgress, node_awaited, request_awaited
from gitbot.workflows.ask.window_outlook import WindowOutlook, window_outlook
from gitbot.workflows.core.stop_conditions import Standstill
from gitbot.workflows.current_state import known_standstill, missing_nodes

__all__ = [
    "Awaited",
    "Listing",
    "NextOpening",
    "NodeStatus",
    "NotPlanned",
    "NotedObject",
    "Query",
    "Questions",
    "RequestStatus",
    "Row",
    "Standstill",
    "StatusResult",
    "WaitProgress",
    "WindowOutlook",
    "calendar_document",
    "changing_intents",
    "cluster_checks",
    "clusters_listing",
    "documents_of_pass",
    "history",
    "known_standstill",
    "ledger_metrics",
    "listing",
    "listing_document",
    "look_at_all",
    "missing_nodes",
    "moves_of",
    "name_of_row",
    "node_awaited",
    "of_labels",
    "past_move",
    "prove",
    "repository_checks",
    "request_awaited",
    "rights_checks",
    "site_documents",
    "status",
    "status_document",
    "status_in",
    "unknown_names",
    "verified",
    "window_outlook",
    "write_dashboard",
    "write_object_events",
]
