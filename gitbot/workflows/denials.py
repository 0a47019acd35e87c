"""What the policies of the base branch deny now of plans that were approved before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitbot.execution.requests import RequestRecord
from gitbot.execution.values import Approved, Stale
from gitbot.model.findings import Severity
from gitbot.model.grouping import grouped
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.problem import PlacementProblem
from gitbot.model.request_id import RequestId
from gitbot.policy import Over, judge
from gitbot.workflows.plan_verdict import overridden
from gitbot.workflows.revision import Revision


def denials(
    revision: Revision,
    problem: PlacementProblem,
    approved: Iterable[Approved],
    records: Mapping[RequestId, RequestRecord],
) -> tuple[Stale, ...]:
    """The groups that must not start. A policy over plans judges the whole plan as approved."""
    found = []
    if not revision.policies.policies:
        return ()
    for item in approved:
        waiting = [move for move in item.moves if _may_start(records.get(item.id), move)]
        if not waiting or item.plan is None:
            continue
        judging = overridden(revision, item.approval.digest)
        if not _denied(judging, problem, item.plan, waiting, tuple(Over)):
            continue
        whole = _denied(judging, problem, item.plan, (), (Over.PLAN,))
        for group, moves in grouped((move.group, move) for move in waiting).items():
            reasons = whole or _denied(judging, problem, item.plan, moves, (Over.MOVE, Over.INTENT))
            if reasons:
                found.append(Stale(request=item.id, group=group, reasons=reasons))
    return tuple(found)


def _may_start(record: RequestRecord | None, move: Move) -> bool:
    known = record.moves.get(move.id) if record is not None else None
    return known is None or not (known.final or known.migration_uid)


def _denied(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    moves: Iterable[Move],
    over: tuple[Over, ...],
) -> tuple[str, ...]:
    judged = tuple(moves)
    named = {move.intent for move in judged}
    policies = [policy for policy in revision.policies.policies if policy.over in over]
    if not policies:
        return ()
    verdict = judge(
        plan=plan,
        problem=problem,
        intents={
            intent.ref: intent.spec.plain()
            for ref in named
            if (intent := revision.intents.by_id(ref.id)) is not None
        },
        policies=replace(revision.policies, policies=tuple(policies)),
        now=problem.now,
        snapshot_max_age=revision.settings.snapshot_max_age,
        owner_of=revision.settings.owner_name,
        moves=judged,
    )
    return tuple(
        f"{item.code}: {item.message}"
        for item in verdict.findings
        if item.severity is Severity.ERROR
    )
