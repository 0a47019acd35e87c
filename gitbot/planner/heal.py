"""HealRule: the fewest moves of a rule's members that heal its breaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.model.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import HealRule
from gitbot.planner import holds
from gitbot.planner.board import Board, total
from gitbot.planner.bounds import least_moves
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.requests import Closed, Late
from gitbot.planner.search import shortest
from gitbot.planner.solve import ANSWERS
from gitbot.planner.step import Draft, Planned, Step, Wish


def heal_rule(board: Board, goal: HealRule, closed: Closed, late: Late) -> Draft:
    """Plan the healing of one rule: one group. What cannot be healed is held with its reasons."""
    rule = _rule(board, goal)
    before = rule.breaches(board.occupancy) if rule is not None else ()
    if rule is None or not before:
        return Draft()
    facts, request = board.facts, goal.request
    against: dict[NamespacedName, Obstacle] = {}
    for vm in sorted(rule.members):
        item = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if item is not None:
            against[vm] = item
    movers = [vm for vm in sorted(rule.members) if vm not in against]
    wish = Wish(closed=closed)
    steps = _cure(board, rule, movers, wish)
    after = board.after(steps)
    found: list[Hold] = []
    for vm in _concerned(rule.breaches(after.occupancy)):
        if vm in against:
            found.append(holds.hold(facts, request, vm, against[vm]))
        else:
            found.append(holds.stuck(after, request, vm, wish))
    planned = tuple(
        Planned(step=step, request=request, group=request.id, why=_why(before, step))
        for step in steps
    )
    return Draft(
        planned=planned, holds=tuple(found), least=min(len(steps), least_moves(rule, before))
    )


def _rule(board: Board, goal: HealRule) -> RuleConstraint | None:
    """The rule of the goal; of an intent's two, the one of its required terms."""
    found = [rule for rule in board.facts.rules if rule.ref.id == goal.rule.id]
    return next((rule for rule in found if rule.required), next(iter(found), None))


def _why(before: Sequence[Breach], step: Step) -> str:
    for breach in before:
        if step.vm in breach.vms:
            return breach.message
    return "steps aside so that the rule can be kept"


def _concerned(breaches: Sequence[Breach]) -> tuple[NamespacedName, ...]:
    return tuple(sorted({vm for breach in breaches for vm in breach.vms}))


def _cure(
    board: Board, rule: RuleConstraint, movers: Sequence[NamespacedName], wish: Wish
) -> tuple[Step, ...]:
    quick = _descend(board, rule, movers, wish)
    undone = total(rule, board.after(quick).occupancy)
    if undone == 0 and len(quick) <= least_moves(rule, rule.breaches(board.occupancy)):
        return quick
    found = shortest(
        board,
        movers,
        lambda here, vm: _offers(here, vm, wish),
        undone=lambda occupancy: total(rule, occupancy),
        at_least=lambda occupancy: _at_least(rule, occupancy),
        patience=ANSWERS // (max(1, len(movers)) * max(1, len(board.facts.nodes))),
    )
    better = (found.undone, len(found.steps)) < (undone, len(quick))
    return found.steps if better or (found.proven and found.undone == undone) else quick


def _at_least(rule: RuleConstraint, occupancy: Occupancy) -> int:
    return least_moves(rule, rule.breaches(occupancy))


def _offers(board: Board, vm: NamespacedName, wish: Wish) -> Iterator[Step]:
    return board.steps(vm, wish)


def _descend(
    board: Board, rule: RuleConstraint, movers: Sequence[NamespacedName], wish: Wish
) -> tuple[Step, ...]:
    """Take the step that heals most, and again, as long as one does."""
    here = board.fork()
    steps: list[Step] = []
    while True:
        breaches = rule.breaches(here.occupancy)
        concerned = frozenset(_concerned(breaches)) or frozenset(movers)
        ranks: list[tuple[int, int, NamespacedName, int, Step]] = []
        for vm in movers:
            if vm in concerned:
                for place, step in enumerate(here.steps(vm, wish)):
                    left = total(rule, here.occupancy_after(step))
                    ranks.append((left, here.facts.memory(vm), vm, place, step))
        best = min(ranks, key=lambda item: item[:4], default=None)
        if best is None or best[0] >= total(rule, here.occupancy):
            return tuple(steps)
        here.take(best[4])
        steps.append(best[4])
