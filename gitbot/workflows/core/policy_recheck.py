"""What the base branch's policies deny now in plans that were approved before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from gitbot.execution.executor_types import Approved, OutdatedGroup
from gitbot.execution.ledger_folds import has_nodes_to_begin
from gitbot.execution.request_records import RequestRecord, fold_requests
from gitbot.model.grouping import grouped
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import Move, PlacementPlan, Resilience
from gitbot.model.plan.problem import Goal, PlacementProblem
from gitbot.policy import PolicyScope, judge
from gitbot.workflows.core.plan_verdict import overridden, single_losses
from gitbot.workflows.core.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRecheck:
    """Judges approved plans by current policies, on the current cluster and ledger.

    `goals` are the goals of a plan's drains: they determine which nodes are back at its end.
    """

    revision: Revision
    problem: PlacementProblem
    ledger: Ledger
    goals: Callable[[PlacementPlan], tuple[Goal, ...]]

    def groups(self, approved: Iterable[Approved]) -> tuple[OutdatedGroup, ...]:
        """Groups that must not start. A policy over plans judges the whole plan as approved."""
        found = []
        for item in approved if self.revision.policies.policies else ():
            waiting = self._waiting(item)
            if not waiting or item.plan is None:
                continue
            denied = self._judge(item, item.plan)
            if not denied(waiting, tuple(PolicyScope)):
                continue
            whole = denied((), (PolicyScope.PLAN,))
            for group, moves in grouped((move.group, move) for move in waiting).items():
                reasons = whole or denied(moves, (PolicyScope.MOVE, PolicyScope.INTENT))
                if reasons:
                    found.append(OutdatedGroup(request=item.id, group=group, reasons=reasons))
        return tuple(found)

    def pausing(self, approved: Iterable[Approved]) -> tuple[Approved, ...]:
        """The approvals; a denied drain is paused even if its moves have ended, while nodes remain.

        While one of its moves waits, its groups report the denial instead.
        """
        return tuple(self._pausing(item) for item in approved)

    def _pausing(self, item: Approved) -> Approved:
        if item.plan is None or not self._has_only_nodes_to_come(item):
            return item
        denied = self._judge(item, item.plan)(item.moves, (PolicyScope.PLAN, PolicyScope.INTENT))
        return replace(item, terms=item.terms.replace(paused="; ".join(denied)))

    def _has_only_nodes_to_come(self, item: Approved) -> bool:
        if item.terms.blocked_reason or not self.revision.policies.policies or self._waiting(item):
            return False
        problem = self.problem
        return has_nodes_to_begin(self.ledger, item, cluster=problem.cluster, now=problem.now)

    def _waiting(self, item: Approved) -> list[Move]:
        record = fold_requests(self.ledger, self.problem.cluster).get(item.id)
        return [move for move in item.moves if _may_start(record, move)]

    def _judge(self, item: Approved, plan: PlacementPlan) -> _Judge:
        judging = overridden(self.revision, item.approval.digest)
        losses = _losses(judging, self.problem, plan, self.goals)
        return partial(_denied, judging, self.problem, plan, losses=losses)


_Judge = Callable[[Iterable[Move], tuple[PolicyScope, ...]], tuple[str, ...]]
_Losses = Callable[[], Sequence[Resilience]]


def _losses(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    goals: Callable[[PlacementPlan], tuple[Goal, ...]],
) -> _Losses:
    """The plan's effect on single losses from now on, computed once a policy reads it."""

    def look() -> Sequence[Resilience]:
        return single_losses(revision.settings, replace(problem, goals=goals(plan)), plan)

    return cache(look)


def _may_start(record: RequestRecord | None, move: Move) -> bool:
    known = record.moves.get(move.id) if record is not None else None
    if known is None:
        return True
    exists = known.in_flight and known.migration_uid  # not the VMIM of a failed attempt
    return not (known.final or exists)


def _denied(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    moves: Iterable[Move],
    over: tuple[PolicyScope, ...],
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
