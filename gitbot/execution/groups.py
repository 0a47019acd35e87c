"""Revalidation: whether groups of approved plans still pass the checks on the current cluster."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.execution.facts import ClusterFacts
from gitbot.execution.nodes import BUSY, nodes_of
from gitbot.execution.starts import Candidate, refusals
from gitbot.execution.values import Approved, Stale, View
from gitbot.model.grouping import grouped
from gitbot.model.plan import Move


def judge_groups(
    view: View, facts: ClusterFacts, candidates: tuple[Candidate, ...]
) -> tuple[Stale, ...]:
    """The groups whose remaining moves would add or worsen a breach, sorted by request and group.

    Each plan is judged as a whole first. If that fails, it is judged group by group in the order of
    the plan, each on top of the groups before it that pass.
    """
    plans = grouped(
        ((item.approved.id, item.approved.approval.digest), item) for item in candidates
    )
    stale: list[Stale] = []
    for _, remaining in sorted(plans.items()):
        stale += _judge_plan(view, facts, remaining)
    return tuple(stale)


def _judge_plan(view: View, facts: ClusterFacts, remaining: Sequence[Candidate]) -> list[Stale]:
    away = _nodes_away(view, remaining[0].approved)
    judged = [item for item in remaining if not away & _nodes_of(remaining, item)]
    first = {item.move.vm: item.move.id for item in reversed(judged)}  # a VM may move twice
    moves_of = {
        item.move.id: facts.as_is(item.move) if first[item.move.vm] == item.move.id else item.move
        for item in judged
    }
    if not refusals(view, moves_of.values()):
        return []
    stale: list[Stale] = []
    passed: list[Move] = []
    for group in dict.fromkeys(item.move.group for item in judged):
        moves = [moves_of[item.move.id] for item in judged if item.move.group == group]
        reasons = refusals(view, [*passed, *moves])
        if reasons:
            stale.append(Stale(request=remaining[0].approved.id, group=group, reasons=reasons))
        else:
            passed += moves
    return stale


def _nodes_away(view: View, approved: Approved) -> frozenset[str]:
    """Nodes of the same occurrence that are out of service now and will return."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return frozenset()
    nodes = nodes_of(view, maintenance)
    return frozenset(name for name, node in nodes.items() if node.state in BUSY)


def _nodes_of(remaining: Sequence[Candidate], item: Candidate) -> frozenset[str]:
    return frozenset(
        other.move.to.node for other in remaining if other.move.group == item.move.group
    )
