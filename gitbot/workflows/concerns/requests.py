"""Concerns about one-off requests that nobody approved as they stand."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.state import (
    MoveRecord,
    RequestRecord,
)
from gitbot.model.canonical import digest
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
    wanted: dict[str, list[MoveRecord]] = {}
    for intent, _ in scene.base.intents.migration_requests:
        planned = f"request/{intent.ref.namespace}/{intent.ref.name}"
        record = records.get(planned)
        stale = stale_moves(scene, record)
        over = record is not None and (record.spent or record.cancelled)
        if not over and (stale or not is_approved(scene, planned)):
            wanted[planned] = stale
    if not wanted:
        return []
    goals = scene.base.request_goals(scene.problem.snapshot, only=tuple(wanted))
    return [_request(scene, records, goal, wanted[goal.request.id]) for goal in goals]


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
