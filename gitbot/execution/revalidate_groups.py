"""Whether groups of approved plans that wait still pass the checks on the current cluster."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.executor_types import Approved, ExecutorInput, OutdatedGroup
from gitbot.execution.ledger_folds import BUSY
from gitbot.execution.nodes import nodes_of
from gitbot.execution.start_selection import Candidate
from gitbot.execution.start_trials import refusals
from gitbot.model.grouping import grouped
from gitbot.model.plan.plan import Move, MoveRef


def judge_groups(
    view: ExecutorInput, facts: ClusterFacts, candidates: tuple[Candidate, ...]
) -> tuple[OutdatedGroup, ...]:
    """Groups whose remaining moves would add or worsen a breach, by request, then in plan order.

    Each plan is judged as a whole first. If that fails, its groups are judged one by one in the
    order of the plan, each on top of the earlier groups that pass.
    """
    denied = {(item.request, item.group) for item in view.denied}
    plans = grouped(
        ((item.approved.id, item.approved.approval.digest), item)
        for item in candidates
        if (item.approved.id, item.move.group) not in denied
    )
    stale: list[OutdatedGroup] = []
    for _, remaining in sorted(plans.items()):
        stale += _judge_plan(view, facts, remaining)
    return tuple(stale)


def _judge_plan(
    view: ExecutorInput, facts: ClusterFacts, remaining: Sequence[Candidate]
) -> list[OutdatedGroup]:
    out = _left_out(remaining, _nodes_away(view, remaining[0].approved))
    judged = [item for item in remaining if item.move.group not in out]
    # A VM may move twice: only its first move starts where the VM is now.
    first = {item.move.vm: item.move.id for item in reversed(judged)}
    moves_of = {
        item.move.id: facts.as_is(item.move) if first[item.move.vm] == item.move.id else item.move
        for item in judged
    }
    if not refusals(view, moves_of.values()):
        return []
    stale: list[OutdatedGroup] = []
    passed: list[Move] = []
    for group in dict.fromkeys(item.move.group for item in judged):
        moves = [moves_of[item.move.id] for item in judged if item.move.group == group]
        reasons = refusals(view, [*passed, *moves])
        if reasons:
            stale.append(
                OutdatedGroup(request=remaining[0].approved.id, group=group, reasons=reasons)
            )
        else:
            passed += moves
    return stale


def _nodes_away(view: ExecutorInput, approved: Approved) -> frozenset[str]:
    """Nodes of the same occurrence that are out of service now and will return."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return frozenset()
    nodes = nodes_of(view, maintenance)
    return frozenset(name for name, node in nodes.items() if node.state in BUSY)


def _left_out(remaining: Sequence[Candidate], away: frozenset[str]) -> frozenset[str]:
    """Groups that cannot be judged now: their targets are out of service, or they wait for such."""
    groups = grouped((item.move.group, item.move) for item in remaining)
    out: set[str] = set()
    left: set[MoveRef] = set()
    emptied: set[str] = set()
    while found := [
        group
        for group, moves in groups.items()
        if group not in out
        and any(
            move.to.node in away
            or (move.after_return and move.to.node in emptied)
            or not left.isdisjoint(move.after or ())
            for move in moves
        )
    ]:
        out.update(found)
        moved = [move for group in found for move in groups[group]]
        left.update(move.ref for move in moved)
        emptied.update(move.source.node for move in moved)
    return frozenset(out)
