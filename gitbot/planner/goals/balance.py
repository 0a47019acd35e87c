"""MoveVms with `balance`: VMs leave nodes that are much fuller than others, if a move is worth it.

A node is as full as its fuller resource, cpu or memory, by requests. A move is worth its cost if
the node that the VM leaves gets emptier, and its target, with the VM, is still GAP below what that
node was. So each move takes one amount out of the list of how full nodes are, and puts smaller ones
in its place: no VM goes round in circles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from gitbot.constraints.rules.imbalance import RESOURCES, WHOLE, fullness
from gitbot.constraints.rules.worsening import total
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Numbers
from gitbot.model.plan.constraint import after_move
from gitbot.model.plan.plan import OptimalityProof
from gitbot.model.plan.problem import Balance, MoveVms
from gitbot.planner import holds
from gitbot.planner.holds import Late, asked_vms
from gitbot.planner.plan_types import Closed, Draft, Planned, Step, TargetPolicy
from gitbot.planner.search.prune_steps import drop_needless_steps
from gitbot.planner.state.plan_state import PlanState

GAP = 50
"""Per mille of a node. Smaller differences are left alone."""

_Left = Mapping[NamespacedName, frozenset[str]]
"""Nodes to which a VM does not go."""


def balance(board: PlanState, goal: MoveVms, closed: Closed, late: Late) -> Draft:
    """Even out the nodes with VMs of the goal. A VM that stays does not become a hold.

    The bound: from each node that is fuller than the fullest is afterwards, the largest VMs go
    first until it is as full as that.
    """
    against = holds.obstacles(board, goal.request, goal.vms, late)
    movers = frozenset(goal.vms).difference(against, asked_vms(board.facts.problem))
    asked, wish = goal.balance or Balance(), TargetPolicy(closed=closed)
    before = _shares(board)
    with board.trial():
        found = list(islice(_reliefs(board, movers, wish, asked.left), asked.most))
    steps = drop_needless_steps(board, found, movers, lambda _: 0)
    planned = tuple(
        Planned(step=step, request=goal.request, group=goal.request.id, why=why)
        for step, why in zip(steps, _reasons(board, steps), strict=True)
    )
    with board.trial(steps):
        top = int(_shares(board).max(initial=0))
    least = sum(
        _fewest(board, board.nodes[number], int(before[number]) - top, movers)
        for number in np.flatnonzero(before > top)
    )
    proof = OptimalityProof.COUNTED if planned and least == len(planned) else OptimalityProof.NONE
    return Draft(planned=planned, least=least, proof=proof)


def _reliefs(
    board: PlanState, movers: Collection[NamespacedName], wish: TargetPolicy, left: _Left
) -> Iterator[Step]:
    """Steps that are worth it, each taken: always from the fullest node that has one.

    Each round adds a node to `spent` or makes the list of `_shares`, sorted from the fullest node
    on, smaller.
    """
    spent: set[int] = set()  # nodes without such a step
    while not board.onlooker.stopped():
        full = _shares(board)
        rest = [number for number in range(len(full)) if number not in spent]
        if not rest:
            return
        fullest = max(rest, key=lambda number: (full[number], -number))
        step = _relief(board, fullest, movers, wish, left)
        if step is None:
            spent.add(fullest)
            continue
        board.take(step)
        yield step
        now = _shares(board)[fullest]
        spent = {number for number in spent if full[number] - now <= GAP}


def _relief(
    board: PlanState,
    number: int,
    movers: Collection[NamespacedName],
    wish: TargetPolicy,
    left: _Left,
) -> Step | None:
    """The step from a node that is worth most; None if none is worth it."""
    full = _shares(board)
    most = full[number] - GAP
    if full.min() >= most:
        return None
    ranked: list[tuple[int, int, NamespacedName, Numbers]] = []
    for vm in board.on(board.nodes[number]):
        if vm in movers and board.place(vm) == board.nodes[number]:
            after = _shares(board, board.asks(vm))
            own = after[number] - full[number]
            if own > 0 and after.min() <= most:
                fuller = int(max(full[number] - own, after.min()))
                ranked.append((fuller, board.memory(vm), vm, after))
    for _, _, vm, after in sorted(ranked, key=lambda item: item[:3]):
        worth = after <= most
        worth[[board.number[node] for node in left.get(vm, ()) if node in board.number]] = False
        step = board.best(vm, wish, worth)
        if step is not None and not _breaks_a_wish(board, step) and _relieves(board, step, full):
            return step
    return None


def _relieves(board: PlanState, step: Step, full: Numbers) -> bool:
    """Whether the source gets emptier. It does not if what the VM leaves is not what fills it."""
    source = board.number[step.source]
    with board.trial([step]):
        return bool(_shares(board)[source] < full[source])


def _breaks_a_wish(board: PlanState, step: Step) -> bool:
    """Whether more of a preferred rule is broken after the step."""
    for rule in board.facts.rules_over(step.vm):
        if not rule.required:
            places = board.places(rule.members)
            after = after_move(places.get(step.vm, frozenset()), step.source, step.node)
            if total(rule, {**places, step.vm: after}) > total(rule, places):
                return True
    return False


def _shares(board: PlanState, more: Mapping[str, int] | None = None) -> Numbers:
    """How full nodes are, in per mille of their fuller resource; `more` is added to each."""
    state, more = board.transit.world.state, more or {}
    used = lambda resource: state.column(resource) + more.get(resource, 0)  # noqa: E731
    return fullness(state.columns.allocatable, used)


def _reasons(board: PlanState, steps: Sequence[Step]) -> Iterator[str]:
    with board.trial():
        for step in steps:
            source, target = board.number[step.source], board.number[step.node]
            left = int(_shares(board)[source]) // 10
            board.take(step)
            reached = int(_shares(board)[target]) // 10
            yield f"evens out: {step.source} is {left} % full, {step.node} with it {reached} %"


def _fewest(board: PlanState, node: str, excess: int, movers: Collection[NamespacedName]) -> int:
    """How many VMs at least must leave a node to make it that much emptier, in per mille."""
    columns, number = board.transit.world.state.columns, board.number[node]
    sizes = sorted(
        (
            max(
                -(-asked.get(resource, 0) * WHOLE // max(1, columns.allocatable(resource)[number]))
                for resource in RESOURCES
            )
            for asked in (board.asks(vm) for vm in board.on(node) if vm in movers)
        ),
        reverse=True,
    )
    count = 0
    while excess > 0 and count < len(sizes):  # `count` grows
        excess -= int(sizes[count])
        count += 1
    return count
