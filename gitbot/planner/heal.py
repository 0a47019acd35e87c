"""HealRule: the fewest moves of a rule's members that heal its breaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitbot.constraints.rule_check import signature
from gitbot.constraints.zone_anti_affinity import ZoneAntiAffinity
from gitbot.model.constraint import Breach, RuleConstraint
from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import HealRule
from gitbot.planner import holds
from gitbot.planner.board import Board, total
from gitbot.planner.bounds import least_moves
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.requests import Closed, Late
from gitbot.planner.search import Found, shortest
from gitbot.planner.solve import ANSWERS, FEW_STATES
from gitbot.planner.step import Draft, Planned, Step, Wish

SMALL = 120
"""Members times nodes up to which a healing is always searched exactly."""


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
    cure = _cure(board, rule, movers, wish)
    after = board.after(cure.steps)
    found = [
        holds.hold(facts, request, vm, against[vm])
        if vm in against
        else _unhealed(after, goal, rule, vm, wish)
        for vm in _concerned(rule.breaches(after.occupancy))
    ]
    planned = tuple(
        Planned(step=step, request=request, group=request.id, why=_why(before, step))
        for step in cure.steps
    )
    least = len(planned) if cure.proven else min(len(planned), least_moves(rule, before))
    return Draft(planned=planned, holds=tuple(found), least=least)


def _unhealed(
    board: Board, goal: HealRule, rule: RuleConstraint, vm: NamespacedName, wish: Wish
) -> Hold:
    """A VM of a breach that stays: because no node takes it, or because no move of it heals."""
    if next(board.steps(vm, wish), None) is None:
        return holds.stuck(board, goal.request, vm, wish)
    breach = next(item for item in rule.breaches(board.occupancy) if vm in item.vms)
    shortage = rule.shortage() if isinstance(rule, ZoneAntiAffinity) else ""
    obstacle = Obstacle(
        code="not-healed",
        reason=shortage or f"no move of its VMs heals this: {breach.message}",
        hint="change the rule, make room, or move VMs that are not of the rule by a request",
    )
    return holds.hold(board.facts, goal.request, vm, obstacle)


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
) -> Found:
    """The best sequence found: exact where the rule is small, else the steepest way down."""
    quick = _descend(board, rule, movers, wish)
    answers = max(1, len(movers)) * max(1, len(board.facts.nodes))
    small = answers <= SMALL
    if quick.undone == 0 and quick.proven and not small:
        return quick
    found = shortest(
        board,
        movers,
        lambda here, vm: here.steps(vm, wish) if small else _few(here, rule, vm, wish, each=2),
        scope=sorted(rule.members),
        undone=lambda places: total(rule, places),
        at_least=lambda places: least_moves(rule, rule.breaches(places)),
        patience=ANSWERS // answers if small else FEW_STATES,
    )
    if found.proven and small:
        return found
    better = (found.undone, len(found.steps)) < (quick.undone, len(quick.steps))
    return replace(found if better else quick, proven=False)


def _few(
    board: Board, rule: RuleConstraint, vm: NamespacedName, wish: Wish, *, each: int
) -> Iterator[Step]:
    """The best steps to each domain that the rule tells apart."""
    seen: Counter[object] = Counter()
    for step in board.steps(vm, wish):
        domain = signature(rule, step.node)
        seen[domain] += 1
        if seen[domain] <= each:
            yield step


def _descend(
    board: Board, rule: RuleConstraint, movers: Sequence[NamespacedName], wish: Wish
) -> Found:
    """Take the step that heals most, and again, as long as one does.

    Proven best where it took no more steps than the rule needs at least.
    """
    here = board.fork()
    steps: list[Step] = []
    while True:
        places = here.places(rule.members)
        breaches = rule.breaches(places)
        left = sum(breach.amount for breach in breaches)
        concerned = frozenset(_concerned(breaches))
        ranks: list[tuple[int, int, NamespacedName, int, Step]] = []
        for vm in movers:
            if vm in concerned:
                for place, step in enumerate(_few(here, rule, vm, wish, each=1)):
                    after = total(rule, {**places, vm: frozenset({step.node})})
                    ranks.append((after, here.facts.memory(vm), vm, place, step))
        best = min(ranks, key=lambda item: item[:4], default=None)
        if best is None or best[0] >= left:
            least = least_moves(rule, rule.breaches(board.occupancy))
            return Found(steps=tuple(steps), undone=left, proven=len(steps) <= least)
        here.take(best[4])
        steps.append(best[4])
