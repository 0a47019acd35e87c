"""Groups that a rule keeps together: moved as one, where no VM of them can move alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.companions import Group, kept_together, moving_as_one, pauses
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.constraint import RuleConstraint, after_move
from gitbot.model.plan.diagnosis import ALLOWED_BREACH, TOGETHER, Check, passed, warned
from gitbot.model.plan.plan import Hold, Move, PlacementPlan, RuleState
from gitbot.model.plan.problem import (
    EmptyNodes,
    HealRule,
    MoveVms,
    Pin,
    PlacementProblem,
    Request,
    Target,
)
from gitbot.model.progress import PlanningProgress
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import first_of
from gitbot.planner.assemble import rule_state
from gitbot.planner.bounds import as_cut
from gitbot.planner.search.budget import SearchBudget

MOST_TARGETS = 8
"""Domains that are tried for a group; each takes a whole plan."""

MOST_ASKED = 4
"""Groups for which a request of their own is tried."""

MOST_FAILED = 32
"""Attempts without a better plan; after so many, only one target of each group is tried."""


_Rank = tuple[bool, int]
"""Whether a domain has a node that no drain empties, and the best score in it."""


def with_groups(
    problem: PlacementProblem,
    plan: PlacementPlan,
    make: Callable[[PlacementProblem], PlacementPlan],
    onlooker: PlanningProgress,
    budget: SearchBudget,
) -> PlacementPlan:
    """The plan, or one that also moves groups whose VMs are all held; never worse otherwise.

    If the onlooker asks to end, or the budget is spent, it is the plan found until then. The replay
    judges such a plan by the rules as they are written, so what the search did is not part of the
    proof.
    """
    occupancy = Instances.of(problem.snapshot).occupancy()
    best, eased, failed = plan, problem, 0
    hints: dict[NamespacedName, str] = {}
    asked: list[Group] = []
    done: list[tuple[RuleConstraint, Group]] = []
    for number, rule in enumerate(problem.rules):
        held = {hold.vm.namespaced_name for hold in best.holds if hold.asked}
        if not held or rule.members.isdisjoint(held):
            continue
        for group in kept_together(rule, occupancy):
            most = MOST_TARGETS if failed < MOST_FAILED else 1
            for target in _targets(eased, group)[:most] if group.vms <= held else ():
                if onlooker.stopped() or budget.spent():
                    return as_cut(best) if budget.cut else best
                rules = list(eased.rules)
                rules[number] = moving_as_one(rules[number], group, target)
                attempt = replace(eased, rules=tuple(rules), as_one=(*eased.as_one, group.vms))
                found = _judged(problem, best, make(attempt), [*done, (rule, group)])
                if found is not None and not replay(problem, found):
                    best, eased = found, attempt
                    done.append((rule, group))
                    break
                failed += 1
                if found is not None and not (hints.keys() & group.vms):
                    hints.update(_hints(problem, found, group))
            else:
                if (
                    group.vms & _stuck(best)
                    and not (hints.keys() & group.vms)
                    and len(asked) < MOST_ASKED
                ):
                    asked.append(group)
                    hints.update(_asked_first(problem, number, group, make))
    return replace(best, holds=tuple(_hinted(hold, hints) for hold in best.holds))


_APART = ("no-feasible-node", "not-together")


def _stuck(plan: PlacementPlan) -> set[NamespacedName]:
    found = (hold for hold in plan.holds if hold.asked and hold.code in _APART)
    return {hold.vm.namespaced_name for hold in found}


def _asked_first(
    problem: PlacementProblem,
    number: int,
    group: Group,
    make: Callable[[PlacementProblem], PlacementPlan],
) -> Iterator[tuple[NamespacedName, str]]:
    """A request that moves the group as one, if a plan shows that it does.

    It is for a group that a drain would move in parts: node by node, or without VMs elsewhere.
    """
    rule, names = problem.rules[number], [vm.name for vm in sorted(group.vms)]
    (space, *others) = {vm.namespace for vm in group.vms}
    for value in _targets(problem, group)[:1] if not others else ():
        ref = IntentRef(kind="MigrationRequest", namespace=space, name="together")
        goal = MoveVms(
            request=Request(id=MigrationRequestId.of(ref), intent=ref),
            vms=tuple(sorted(group.vms)),
            target=Target(node_selector={group.key: value}),
            pin=Pin.NODE,
        )
        alone = replace(problem, goals=(goal,))
        rules = list(problem.rules)
        rules[number] = moving_as_one(rule, group, value)
        found = make(replace(alone, rules=tuple(rules)))
        if found.holds or replay(alone, found):
            continue
        words = (
            f"{rule.ref.id} keeps {first_of(names, 4)} together: move them as one first, by a "
            f"MigrationRequest for all of them with target.nodeSelector {group.key}: {value} and "
            "pin: Node"
        )
        yield from dict.fromkeys(group.vms, words).items()


def _targets(problem: PlacementProblem, group: Group) -> list[str]:
    """Other domains with a node for each VM of the group alone, the scheduler's favourite first.

    Nodes that a drain empties come last: one that is back takes the group.
    """
    state = MigrationState.of(replace(problem, rules=()))
    closed = {node for goal in problem.goals for node in goal.closes}
    names, scores = state.world.state.columns.names, dict[str, _Rank]()
    for place, vm in enumerate(sorted(group.vms)):
        numbers = np.flatnonzero(state.feasible(vm, Pin.NODE))
        mine: dict[str, _Rank] = {}
        for number, total in zip(numbers, state.totals(vm, numbers), strict=True):
            value = group.domain_of.get(names[number], group.value)
            if value != group.value:
                rank = (names[number] not in closed, int(total))
                mine[value] = max(mine.get(value, rank), rank)
        scores = {
            value: (opened and before[0], total + before[1])
            for value, (opened, total) in mine.items()
            if not place or value in scores
            for before in (scores.get(value, (True, 0)),)
        }
    return sorted(scores, key=lambda value: (not scores[value][0], -scores[value][1], value))


def _judged(
    problem: PlacementProblem,
    best: PlacementPlan,
    found: PlacementPlan,
    groups: Sequence[tuple[RuleConstraint, Group]],
) -> PlacementPlan | None:
    """The found plan in terms of the rules themselves; None if it is not better. Replay it.

    `groups` are those that move as one, the one that is tried last.
    """
    group = groups[-1][1]
    known = {(hold.request, hold.vm): hold for hold in best.holds}
    left = {(hold.request, hold.vm): hold for hold in found.holds}
    if not left.keys() < known.keys() or any(vm.namespaced_name in group.vms for _, vm in left):
        return None
    drains = {goal.request.id for goal in problem.goals if isinstance(goal, EmptyNodes)}
    mine = [move for move in found.moves if move.vm.namespaced_name in group.vms]
    if len({move.group for move in mine if move.request in drains}) > 1:
        return None  # in turns: the second waits until a node is back
    moves, refs = found.moves, {rule.ref: rule for rule, _ in groups}
    for rule, each in groups:
        moves = tuple(_told(_joined(moves, each), rule, each))
    moved = {move.vm for move in moves}  # what was said before is wrong of these
    return replace(
        found,
        moves=moves,
        holds=tuple(
            left[key] if key[1] in moved else hold for key, hold in known.items() if key in left
        ),
        rules=tuple(
            _state(problem, refs[item.intent], moves)
            if item.intent in refs and item.required
            else item
            for item in found.rules
        ),
    )


def _joined(moves: tuple[Move, ...], group: Group) -> tuple[Move, ...]:
    """The moves, those that go home to several nodes in one group if they share VMs of it.

    Else a failure on one node would not withdraw what keeps the rule on the other.
    """
    mine = [move for move in moves if move.vm.namespaced_name in group.vms]
    groups = dict.fromkeys((move.request, move.group) for move in mine)
    if len(groups) < 2 or len({request for request, _ in groups}) > 1:
        return moves
    first = next(iter(groups))[1]
    return tuple(
        replace(move, group=first) if (move.request, move.group) in groups else move
        for move in moves
    )


def _hints(
    problem: PlacementProblem, found: PlacementPlan, group: Group
) -> Iterator[tuple[NamespacedName, str]]:
    """What a person writes so that the replay passes the plan, if only its pauses are wrong."""
    seconds = max(_apart(found.moves, group), 1)
    goals = tuple(
        goal
        if isinstance(goal, HealRule)
        else replace(goal, request=replace(goal.request, allow_breach=seconds))
        for goal in problem.goals
    )
    if not replay(replace(problem, goals=goals), found):
        for vm in sorted(group.vms):
            yield vm, f"write allowBreach: PT{-(-seconds // 60)}M: they move as one, with a pause"


def _hinted(hold: Hold, hints: Mapping[NamespacedName, str]) -> Hold:
    words = hints.get(hold.vm.namespaced_name, "") if hold.asked else ""
    return replace(hold, hint="; ".join(filter(None, (words, hold.hint)))) if words else hold


def _timed(moves: Iterable[Move], group: Group) -> list[tuple[int, Move]]:
    mine = (move for move in moves if move.vm.namespaced_name in group.vms)
    return sorted(((move.starts, move) for move in mine), key=lambda each: each[0])


def _apart(moves: Iterable[Move], group: Group) -> int:
    """Seconds from the group's first landing to its last."""
    ends = [start + move.estimated_seconds for start, move in _timed(moves, group)]
    return max(ends) - min(ends)


def _state(problem: PlacementProblem, rule: RuleConstraint, moves: Iterable[Move]) -> RuleState:
    begin = Instances.of(problem.snapshot).occupancy()
    end = dict(begin)
    for move in moves:
        vm = move.vm.namespaced_name
        end[vm] = after_move(end.get(vm, frozenset()), move.source.node, move.to.node)
    return rule_state(rule, rule.breaches(begin), rule.breaches(end))


def _told(moves: tuple[Move, ...], rule: RuleConstraint, group: Group) -> Iterator[Move]:
    """The moves; those of the group say with whom, and for how long the rule is broken."""
    seconds, paused = _apart(moves, group), pauses(_timed(moves, group))
    for move in moves:
        mine = move.vm.namespaced_name in group.vms
        checks = _checks(move, rule, group.vms, seconds, paused) if mine else move.checks
        yield replace(move, checks=checks)


def _checks(
    move: Move, rule: RuleConstraint, vms: frozenset[NamespacedName], seconds: int, paused: bool
) -> tuple[Check, ...]:
    names = first_of([vm.name for vm in sorted(vms)], 4)
    words = (
        f"{names} move as one: {rule.ref.id} is broken from the first landing to the last,"
        f" about {seconds} s"
    )
    if paused:
        words += ", with a pause that allowBreach permits"
    kept = [check for check in move.checks if check.name != "rules"]
    others = passed("rules", f"every rule but {rule.ref.id} is kept at every instant")
    longer = (warned(ALLOWED_BREACH, f"{rule.ref.id} is broken for about {seconds} s"),)
    return (*kept, others, warned(TOGETHER, words), *(longer if paused else ()))
