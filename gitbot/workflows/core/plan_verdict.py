"""The verdict of policies on a plan, and its effect on losses that the cluster must survive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gitbot.audit import gathering, over_targets
from gitbot.constraints.failure.resilience import resilience
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import PlacementPlan, Resilience
from gitbot.model.plan.problem import EmptyNodes, Goal, PlacementProblem
from gitbot.model.text.wording import first_of
from gitbot.policy import Verdict, judge
from gitbot.policy.evaluate_once import PlanVariables
from gitbot.settings import Settings
from gitbot.workflows.core.revision import Revision


def policy_variables(
    revision: Revision, problem: PlacementProblem, plan: PlacementPlan, clock: int
) -> PlanVariables:
    """The variables of a plan for policies' expressions."""

    def losses() -> Sequence[Resilience]:
        return single_losses(revision.settings, problem, plan)

    return PlanVariables(moves=plan.moves, **_seen(revision, problem, plan, losses, clock))


def judged(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    losses: Sequence[Resilience],
    clock: int,
) -> Verdict:
    seen = _seen(revision, problem, plan, lambda: losses, clock)
    return judge(policies=revision.policies, **seen)


def _seen(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    losses: Callable[[], Sequence[Resilience]],
    clock: int,
) -> dict[str, Any]:
    return {
        "plan": plan,
        "problem": problem,
        "resilience": losses,
        "intents": {intent.ref: intent.spec.plain() for intent in revision.intents.intents},
        "now": problem.now,
        "clock": clock,
        "snapshot_max_age": revision.settings.snapshot_max_age,
        "owner_of": revision.settings.owner_name,
    }


def single_losses(
    settings: Settings, problem: PlacementProblem, plan: PlacementPlan
) -> tuple[Resilience, ...]:
    """The plan's effect on the losses that the cluster must survive; empty if none is set."""
    wanted = settings.resilience
    if not wanted.survive:
        return ()
    return resilience(
        problem.snapshot,
        plan,
        goals=problem.goals,
        levels=tuple(dict.fromkeys(wanted.survive)),
        namespaces=wanted.namespaces,
    )


def worse_losses(losses: Iterable[Resilience]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            code="plan/resilience",
            severity=Severity.WARNING,
            message=f"after the plan, more VMs than before find no place if a {one.level.lower()} "
            f"is lost ({first_of([item.lost for item in one.worse], _NAMED)}), as "
            f"{one.worse[0].first[0]}: {one.worse[0].why}",
            hint="choose another target, or make room first",
        )
        for one in losses
        if one.worse
    )


_NAMED = 3  # losses


def once_there(problem: PlacementProblem, plan: PlacementPlan) -> Iterator[Finding]:
    """What the cluster is like after the plan: workloads that gather, nodes that are too full."""
    yield from _newly_gathered(problem.snapshot, plan, problem.goals)
    yield from _over_utilised(problem, plan)


def _newly_gathered(
    snapshot: ClusterSnapshot, plan: PlacementPlan, goals: Iterable[Goal]
) -> Iterator[Finding]:
    """Workloads whose members are on one node or in one zone after the plan, and were not before.

    Nodes that a goal empties could take no member.
    """
    ends = {move.vm.namespaced_name: move for move in plan.moves}
    closed = [node for goal in goals if isinstance(goal, EmptyNodes) for node in goal.nodes]
    places = {vm: move.to.node for vm, move in ends.items()}
    for item in gathering(snapshot, places, closed=closed):
        intent = next(ends[vm].intent for vm in item.vms if vm in ends)
        yield replace(
            item.finding,
            code="plan/gathered",
            message=f"{item.subject}: after the plan {item.finding.message}",
            file=intent.file,
            line=intent.line,
            key_path="",
        )


def _over_utilised(problem: PlacementProblem, plan: PlacementPlan) -> Iterator[Finding]:
    """Targets that the cluster's descheduler calls over-utilised, by its own thresholds."""
    ends = {move.vm.namespaced_name: move for move in plan.moves}
    places = {vm: move.to.node for vm, move in ends.items()}
    for policy, item, idle in over_targets(problem.snapshot, problem.load, places):
        intent = next(move.intent for move in ends.values() if move.to.node == item.node)
        then = "it may evict VMs there again" if policy.acts else f"mode {policy.mode} evicts none"
        yield Finding(
            code="plan/over-utilised",
            severity=Severity.WARNING,
            message=f"after the plan, {item.node} is over-utilised for the cluster's descheduler "
            f"({policy.name}): {item.words}; {f'now it evicts nothing: {idle}' if idle else then}",
            hint="choose another target",
            file=intent.file,
            line=intent.line,
        )


def overridden(revision: Revision, digest: str) -> Revision:
    """The revision with the overrides of this plan alone, of policies that allow overrides now."""
    allowed = {item.policy for item in revision.settings.overrides}
    found = tuple(
        item
        for item in revision.policies.overrides
        if item.digest == digest and item.override.policy in allowed
    )
    return replace(revision, policies=replace(revision.policies, overrides=found))
