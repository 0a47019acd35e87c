"""Nodes that leave service now or soon: plans of other goals move no VM there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gitbot.intents.compile import RequestHistory
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, PlacementProblem, Reservation
from gitbot.planner import make_plan
from gitbot.workflows.core.context import PlanOf
from gitbot.workflows.core.revision_engine import RevisionEngine


def drains_due(
    engine: RevisionEngine, snapshot: ClusterSnapshot, *, now: int, past: RequestHistory
) -> Iterator[EmptyNodes]:
    """The unfinished drains that are planned with all other goals: open now, or announced.

    Nodes that leave together take no VM until all of them are back. Those of a rolling drain
    without schedule take VMs at once when they are back.
    """
    until = now + engine.settings.proposals.announce
    for intent, spec in engine.intents.maintenance_windows:
        opening = engine.opening(intent, now=now, past=past)
        if opening is None or opening.allowed.start > until:
            continue
        away = spec.drain.together and intent.ref.name in past.emptying
        if opening.drain in past.finished and not away:
            continue
        goal = engine.drain_goal(intent, opening, snapshot, now=now)
        if goal is not None and goal.ready_by and not opening.ready_by:
            # an approved plan has decided when it begins
            goal = replace(
                goal, ready_by=0, request=replace(goal.request, allowed=(opening.allowed,))
            )
        if goal is not None and not (spec.schedule or goal.together):
            back = past.returned.get(opening.drain, ())
            goal = replace(goal, nodes=tuple(node for node in goal.nodes if node not in back))
        yield from (goal,) if goal is not None else ()


def closing_goals(drains: Iterable[EmptyNodes], goals: Sequence[Goal]) -> tuple[EmptyNodes, ...]:
    """Goals that close the nodes of all drains that are not among `goals`, and move nothing."""
    mine = {goal.request.id for goal in goals}
    return tuple(
        replace(drain, nodes=(), later=(*drain.nodes, *drain.later))
        for drain in drains
        if drain.request.id not in mine
    )


def without_closing_drains(
    problem: PlacementProblem, plan: PlacementPlan, goals: tuple[Goal, ...]
) -> tuple[PlacementProblem, PlacementPlan]:
    """Problem and plan of `goals` alone: a drain that only closed its nodes is not shown."""
    mine = {goal.request.id for goal in goals}
    drains = tuple(item for item in plan.drains if item.request in mine)
    return replace(problem, goals=goals), replace(plan, drains=drains)


def plan_beside_drains(
    engine: RevisionEngine,
    snapshot: ClusterSnapshot,
    goals: tuple[Goal, ...],
    *,
    now: int,
    drains: Iterable[EmptyNodes],
    reservations: tuple[Reservation, ...],
    assume_plugins: tuple[str, ...] = (),
    past: RequestHistory,
    plan_of: PlanOf = make_plan,
) -> tuple[PlacementProblem, PlacementPlan, tuple[Finding, ...]]:
    """The plan of `goals` that moves no VM to a node of `drains`, its problem, and findings."""
    problem, found = engine.compile(
        snapshot,
        now=now,
        goals=(*goals, *closing_goals(drains, goals)),
        reservations=reservations,
        assume_plugins=assume_plugins,
        past=past,
    )
    return *without_closing_drains(problem, plan_of(problem), goals), found
