"""Concerns about one-off requests that nobody approved as they stand."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.requests import MoveRecord, RequestRecord
from gitbot.intents.compile import compile_requests
from gitbot.model.canonical import digest
from gitbot.model.findings import Severity
from gitbot.model.problem import (
    MoveVms,
)
from gitbot.workflows.concerns.value import (
    Concern,
    Scene,
    concern_name,
    full_name,
    is_approved,
    numbered,
    stale_moves,
    stale_words,
)


def requests(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """Requests on the base branch that nobody approved, or whose plan no longer keeps the law."""
    wanted = _wanted(scene, records)
    if not wanted:
        return []
    goals = scene.base.request_goals(scene.problem.snapshot, only=tuple(wanted))
    return [_request(scene, records, goal, wanted[goal.request.id]) for goal in goals]


def meaningless(scene: Scene, records: dict[str, RequestRecord]) -> dict[str, tuple[str, str]]:
    """Requests without an approved plan that cannot mean anything on this cluster.

    By the name of their concern: the ledger id, and why (no such node, nothing selected, too late).
    """
    found: dict[str, tuple[str, str]] = {}
    wanted = _wanted(scene, records)
    for intent, _ in scene.base.intents.migration_requests:
        planned = f"request/{intent.ref.namespace}/{intent.ref.name}"
        if planned not in wanted:
            continue
        goals, findings = compile_requests(
            scene.base.intents,
            scene.problem.snapshot,
            now=scene.now,
            zone=scene.base.zone,
            only=(planned,),
        )
        if not goals:
            errors = [item.message for item in findings if item.severity is Severity.ERROR]
            said = errors or [item.message for item in findings] or ["it selects nothing"]
            found[concern_name("request", full_name(intent.ref))] = (planned, said[0])
    return found


def _wanted(scene: Scene, records: dict[str, RequestRecord]) -> dict[str, list[MoveRecord]]:
    """Ledger ids of requests to be planned, with their moves that no longer keep the law."""
    wanted: dict[str, list[MoveRecord]] = {}
    for intent, _ in scene.base.intents.migration_requests:
        planned = f"request/{intent.ref.namespace}/{intent.ref.name}"
        record = records.get(planned)
        stale = stale_moves(scene, record)
        over = record is not None and (record.spent or record.cancelled)
        if not over and (stale or not is_approved(scene, planned)):
            wanted[planned] = stale
    return wanted


def _request(
    scene: Scene, records: dict[str, RequestRecord], goal: MoveVms, stale: list[MoveRecord]
) -> Concern:
    if stale:
        goal = replace(goal, vms=tuple(sorted({move.vm for move in stale})))
    ref = goal.request.intent
    return Concern(
        name=concern_name("request", full_name(ref)),
        intent=ref,
        goal=replace(goal, request=numbered(goal.request, records)),
        observation=digest([goal.request.id, [str(vm) for vm in goal.vms]]),
        why=stale_words(stale) or f"carry out {goal.request.id}, which has no approved plan",
        auto=scene.base.settings.approval == "Intent",
    )
