"""Metrics that the ledger knows: they survive restarts, and count effects once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gitbot.audit import CODE_OF_PREFERRED, CODE_OF_REQUIRED
from gitbot.execution.ledger_folds import BREAKER, BUSY, concerns_of, fold_concern
from gitbot.execution.request_records import RequestState, fold_requests
from gitbot.model.ledger.events import (
    FINAL_STATES,
    ForeignMove,
    MoveApproved,
    MoveChanged,
    MoveState,
    StopSet,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.reports import MetricValues
from gitbot.workflows.ask.maintenance import nodes_of
from gitbot.workflows.audit import standing_since
from gitbot.workflows.ledger.kept_plans import estimates_of

_CURRENT = frozenset(MoveState) - FINAL_STATES - {MoveState.OBSERVED}
_UNFINISHED = (
    RequestState.APPROVED,
    RequestState.HELD,
    RequestState.RUNNING,
    RequestState.CANCELLING,
)
_ENFORCEMENT = {CODE_OF_REQUIRED: "Required", CODE_OF_PREFERRED: "Preferred"}


def ledger_metrics(ledger: Ledger, cluster: str) -> Iterator[MetricValues]:
    yield from _standing(ledger, cluster)
    yield from _ended(ledger, cluster)
    holds = [event for event in ledger.stops(cluster)[-1:] if isinstance(event, StopSet)]
    since = sum(event.time for event in holds)
    yield MetricValues(name="gitbot_hold_timestamp_seconds", values={"": since})
    opened = any(event.author == BREAKER for event in holds)
    yield MetricValues(name="gitbot_breaker_open", values={"": opened})
    for audit in ledger.audits(cluster)[-1:]:
        found = {"error": audit.errors, "warning": audit.warnings}
        yield MetricValues(name="gitbot_audit_findings", values=found)
        yield from _broken(standing_since(ledger, cluster))
    yield MetricValues(name="gitbot_ledger_lines", values={"": len(ledger.events)})
    size = sum(map(len, ledger.plans.values()))
    yield MetricValues(name="gitbot_ledger_plans_bytes", values={"": size})


def _broken(since: Mapping[str, int]) -> Iterator[MetricValues]:
    """Broken rules by enforcement. `since` is of the findings of the last audit, by identity."""
    times = {
        enforcement: [time for finding, time in since.items() if finding.startswith(f"{code} ")]
        for code, enforcement in _ENFORCEMENT.items()
    }
    counts = {enforcement: len(found) for enforcement, found in times.items()}
    oldest = {enforcement: min(found, default=0) for enforcement, found in times.items()}
    yield MetricValues(name="gitbot_broken_rules", values=counts)
    yield MetricValues(name="gitbot_broken_rules_since_timestamp_seconds", values=oldest)


def _standing(ledger: Ledger, cluster: str) -> Iterator[MetricValues]:
    """What has not ended, for every state: a series that is 0 does not vanish."""
    records = fold_requests(ledger, cluster).values()
    moves = Counter({str(state): 0 for state in _CURRENT})
    requests = Counter({str(state): 0 for state in _UNFINISHED})
    for record in records:
        if not record.finished:
            requests[str(record.state)] += 1
            moves.update(str(move.state) for move in record.moves.values() if not move.final)
    yield MetricValues(name="gitbot_moves", values=moves)
    yield MetricValues(name="gitbot_requests", values=requests)
    nodes = {str(state): 0 for state in BUSY}
    for occurrence in nodes_of(ledger, cluster).values():
        for node in occurrence:
            if node.state in BUSY:
                nodes[str(node.state)] += 1
    yield MetricValues(name="gitbot_nodes_in_maintenance", values=nodes)
    concerns = (
        fold_concern(ledger, cluster=cluster, concern=name) for name in concerns_of(ledger, cluster)
    )
    opened = sum(bool(concern.opened and concern.pull_request) for concern in concerns)
    yield MetricValues(name="gitbot_open_proposals", values={"": opened})


def _ended(ledger: Ledger, cluster: str) -> Iterator[MetricValues]:
    """Counters over the whole ledger: they only rise, as Prometheus expects."""
    ended = {str(state): 0 for state in FINAL_STATES}
    foreign = 0
    created = set()
    planned = {}
    took = []
    for event in ledger.requests(cluster):
        match event:
            case ForeignMove():
                foreign += 1
            case MoveApproved():
                planned[event.request, event.move] = event.terms.planned
            case MoveChanged(state=state):
                if event.migration_uid:  # a quick one may be first seen at its end
                    created.add(event.migration_uid)
                if state in FINAL_STATES:
                    ended[str(state)] += 1
                if state is MoveState.SUCCEEDED and event.migration_uid:
                    took.append(event)
            case _:  # cancels
                pass
    yield MetricValues(name="gitbot_migrations_created_total", values={"": len(created)})
    yield MetricValues(name="gitbot_moves_ended_total", values=ended)
    yield MetricValues(name="gitbot_foreign_migrations_total", values={"": foreign})
    durations = tuple(float(event.seconds) for event in took)
    yield MetricValues(name="gitbot_migration_duration_seconds", observed=durations)
    ratios = tuple(_ratios(ledger, took, planned))
    yield MetricValues(name="gitbot_migration_estimate_ratio", observed=ratios)


def _ratios(
    ledger: Ledger,
    took: Iterable[MoveChanged],
    planned: Mapping[tuple[RequestId, int], RequestId],
) -> Iterator[float]:
    """What each migration took over its estimate. `planned`: its request in the plan, by move."""
    estimated = estimates_of(ledger, {event.digest for event in took})
    for event in took:
        request = planned.get((event.request, event.move), event.request)
        seconds = estimated.get(event.digest, {}).get((request, event.move), 0)
        if seconds:  # otherwise its plan is damaged, and says so elsewhere
            yield event.seconds / seconds
