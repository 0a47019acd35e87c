"""Nodes that leave service now or soon: a plan of something else moves no VM there."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal
from gitbot.workflows.core.revision_engine import RevisionEngine


def drains_due(
    engine: RevisionEngine, snapshot: ClusterSnapshot, *, now: int, finished: Container[RequestId]
) -> Iterator[EmptyNodes]:
    """The unfinished drains that are planned with all else: open now, or announced."""
    until = now + engine.settings.proposals.announce
    for intent, _ in engine.intents.maintenance_windows:
        opening = engine.opening(intent, now=now)
        if opening is None or opening.allowed.start > until or opening.drain in finished:
            continue
        goal = engine.drain_goal(intent, opening, snapshot, now=now)
        yield from (goal,) if goal is not None else ()


def closing_goals(drains: Iterable[EmptyNodes], goals: Sequence[Goal]) -> tuple[EmptyNodes, ...]:
    """Goals that close the nodes of all drains that are not among `goals`, and move nothing."""
    mine = {goal.request.id for goal in goals}
    return tuple(
        replace(drain, nodes=(), later=(*drain.nodes, *drain.later))
        for drain in drains
        if drain.request.id not in mine
    )


def drop_closing_drains(plan: PlacementPlan, goals: Iterable[Goal]) -> PlacementPlan:
    """The plan of `goals`: without drains that only closed their nodes."""
    mine = {goal.request.id for goal in goals}
    return replace(plan, drains=tuple(item for item in plan.drains if item.request in mine))
