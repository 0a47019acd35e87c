"""Intents that shut each other out: rules that cannot all hold, and what else a proof rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.constraints.rules.contradiction import SearchEffort, smallest_sets
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import EmptyNodes, Goal, MoveVms, ReturnHome
from gitbot.model.text.names import IntentRef
from gitbot.planner.proofs.capacity_model import CapacityModel
from gitbot.planner.proofs.messages import empties_words, keeps_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a proof counts: these VMs, on the nodes of the mask."""

    vms: Sequence[NamespacedName]
    nodes: Mask


def closed_by(goals: Iterable[Goal]) -> Mapping[str, EmptyNodes]:
    """The nodes that take no VM in the end, each with the goal that empties it.

    By a goal without nodes, those of later. A node of a rolling drain comes back, now or after this
    plan, and takes VMs again.
    """
    drains = [goal for goal in goals if isinstance(goal, EmptyNodes) and not goal.rolls]
    return {node: goal for goal in drains for node in goal.nodes or goal.later}


def causes(ground: CapacityModel, scope: Counted, goal: Goal) -> Iterator[tuple[IntentRef, str]]:
    """Intents other than the goal's own, each with its words; none that adds nothing to others.

    A node that a VM's own spec refuses needs no intent; one that a rule refuses needs no window.
    """
    if isinstance(goal, ReturnHome):
        return
    board, own = ground.board, goal.request.intent
    closed = closed_by(board.facts.problem.goals)
    wanted = board.facts.matching(goal.target) if isinstance(goal, MoveVms) else board.nodes
    open_now = ground.mask(wanted) & ~scope.nodes
    shut = ground.mask(node for node, drain in closed.items() if drain.request.intent != own)
    kept: dict[IntentRef, tuple[str, list[NamespacedName]]] = {}
    emptied: Mask = np.zeros_like(shut)
    for vm in scope.vms:
        other = ground.by_spec(vm) & open_now & ~ground.mask([board.place(vm)])
        for rule, part in ground.parts(vm):
            left = other & ground.mask(part.nodes)
            if rule.ref != own and (left != other).any():
                kept.setdefault(rule.ref, (part.wanted, []))[1].append(vm)
            other = left
        emptied |= other & shut
    for ref, (where, vms) in sorted(kept.items(), key=lambda item: item[0]):
        yield ref, keeps_words(ref, vms, where)
    by_intent: dict[IntentRef, list[str]] = {}
    for number in np.flatnonzero(emptied):
        node = board.nodes[number]
        by_intent.setdefault(closed[node].request.intent, []).append(node)
    for ref, nodes in sorted(by_intent.items()):
        yield ref, empties_words(ref, nodes)


def contradiction(ground: CapacityModel, rule: RuleConstraint) -> Sequence[RuleConstraint]:
    """A rule that is to be healed, with others that hold now and cannot stay so; empty if unknown.

    What is broken now may stay broken, so it is left out.
    """
    board = ground.board
    if not rule.members <= ground.held.keys():
        return ()
    others = {
        other.ref: other for vm in sorted(rule.members) for other in board.facts.rules_over(vm)
    }
    hold = [
        other
        for ref, other in sorted(others.items())
        if ref != rule.ref
        and other.required
        and other.members <= ground.held.keys()
        and not any(True for _ in other.breaches(board.occupancy))
    ]
    homes = {vm: board.place(vm) for each in (rule, *hold) for vm in each.members}
    return next(smallest_sets(homes, board.nodes, [rule, *hold], SearchEffort()), ())
