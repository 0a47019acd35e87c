"""Concerns about one-off requests that nobody has approved in their present form."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.request_records import MoveRecord
from gitbot.intents.compile import compile_requests, request_id
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import MoveVms
from gitbot.model.text.canonical import digest
from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    concern_name,
    full_name,
    is_approved,
    numbered,
    stale_moves,
    stale_words,
)


def requests(sources: ConcernSources) -> list[Concern]:
    """Requests on the base branch without approval, or whose plan no longer passes the checks."""
    wanted = _wanted(sources)
    if not wanted:
        return []
    goals = sources.base.request_goals(
        sources.problem.snapshot, now=sources.now, only=tuple(wanted)
    )
    return [_request(sources, goal, wanted[goal.request.id]) for goal in goals]


def unplannable_requests(sources: ConcernSources) -> dict[str, tuple[RequestId, str]]:
    """Requests without an approved plan that this cluster cannot carry out.

    The ledger id and why (no such node, nothing selected, too late), by the name of the concern.
    """
    found: dict[str, tuple[RequestId, str]] = {}
    wanted = _wanted(sources)
    for intent, _ in sources.base.intents.migration_requests:
        planned = request_id(intent)
        if planned not in wanted:
            continue
        goals, findings = compile_requests(
            sources.base.intents,
            sources.problem.snapshot,
            now=sources.now,
            zone=sources.base.revision.zone,
            only=(planned,),
        )
        if not goals:
            errors = [item.message for item in findings if item.severity is Severity.ERROR]
            said = errors or [item.message for item in findings] or ["it selects nothing"]
            found[concern_name("request", full_name(intent.ref))] = (planned, said[0])
    return found


def _wanted(sources: ConcernSources) -> dict[RequestId, list[MoveRecord]]:
    """Ledger ids of requests to plan, with their moves that no longer pass the checks."""
    wanted: dict[RequestId, list[MoveRecord]] = {}
    for intent, _ in sources.base.intents.migration_requests:
        planned = request_id(intent)
        record = sources.records.get(planned)
        stale = stale_moves(sources, record)
        over = record is not None and (record.spent or record.cancelled)
        if not over and (stale or not is_approved(sources, planned)):
            wanted[planned] = stale
    return wanted


def _request(sources: ConcernSources, goal: MoveVms, stale: list[MoveRecord]) -> Concern:
    if stale:
        goal = replace(goal, vms=tuple(sorted({move.vm for move in stale})))
    ref = goal.request.intent
    return Concern(
        name=concern_name("request", full_name(ref)),
        intent=ref,
        goal=replace(goal, request=numbered(sources, goal.request)),
        observation=digest([goal.request.id, [str(vm) for vm in goal.vms]]),
        why=stale_words(stale) or f"carry out {goal.request.id}, which has no approved plan",
        auto=sources.base.settings.approval == "Intent",
    )
