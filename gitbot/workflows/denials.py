"""What the policies of the base branch deny now of plans that were approved before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from gitbot.execution.requests import RequestRecord
from gitbot.execution.values import Approved, Stale
from gitbot.model.findings import Severity
from gitbot.model.grouping import grouped
from gitbot.model.plan import Move, PlacementPlan, Resilience
from gitbot.model.problem import Goal, PlacementProblem
from gitbot.model.request_id import RequestId
from gitbot.policy import Over, judge
from gitbot.workflows.plan_verdict import overridden, single_losses
from gitbot.workflows.revision import Revision


def denials(
    revision: Revision,
    problem: PlacementProblem,
    approved: Iterable[Approved],
    records: Mapping[RequestId, RequestRecord],
    goals: Callable[[PlacementPlan], tuple[Goal, ...]],
) -> tuple[Stale, ...]:
    """The groups that must not start. A policy over plans judges the whole plan as approved.

    `goals` are those of the drains of a plan: they say which nodes are back at its end.
    """
    found = []
    if not revision.policies.policies:
        return ()
    for item in approved:
        waiting = [move for move in item.moves if _may_start(records.get(item.id), move)]
        if not waiting or item.plan is None:
            continue
        judging = overridden(revision, item.approval.digest)
        losses = _losses(judging, problem, item.plan, goals)
        denied = partial(_denied, judging, problem, item.plan, losses=losses)
        if not denied(waiting, tuple(Over)):
            continue
        whole = denied((), (Over.PLAN,))
        for group, moves in grouped((move.group, move) for move in waiting).items():
            reasons = whole or denied(moves, (Over.MOVE, Over.INTENT))
            if reasons:
                found.append(Stale(request=item.id, group=group, reasons=reasons))
    return tuple(found)


_Losses = Callable[[], Sequence[Resilience]]


def _losses(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    goals: Callable[[PlacementPlan], tuple[Goal, ...]],
) -> _Losses:
    """What the plan does to single losses from now on, computed once a policy reads it."""

    def look() -> Sequence[Resilience]:
        return single_losses(revision.settings, replace(problem, goals=goals(plan)), plan)

    return cache(look)


def _may_start(record: RequestRecord | None, move: Move) -> bool:
    known = record.moves.get(move.id) if record is not None else None
    if known is None:
        return True
    exists = known.in_flight and known.migration_uid  # not that of an attempt that failed
    return not (known.final or exists)


def _denied(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    moves: Iterable[Move],
    over: tuple[Over, ...],
    *,
    losses: _Losses,
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
        resilience=losses,
    )
    return tuple(
        f"{item.code}: {item.message}"
        for item in verdict.findings
        if item.severity is Severity.ERROR
    )
