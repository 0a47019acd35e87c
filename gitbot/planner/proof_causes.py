"""What else a proof rests on: intents that keep its VMs off the nodes that it does not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.columns import Mask
from gitbot.model.names import IntentRef
from gitbot.model.problem import EmptyNodes, Goal, MoveVms, ReturnHome
from gitbot.planner.ground import Ground
from gitbot.planner.proof_words import empties_words, keeps_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a proof counts: these VMs, on the nodes of the mask."""

    vms: Sequence[NamespacedName]
    nodes: Mask


def causes(
    ground: Ground, scope: Counted, goal: Goal, closed: Mapping[str, EmptyNodes]
) -> Iterator[tuple[IntentRef, str]]:
    """Intents other than the goal's own, each with its words; none that adds nothing to others.

    A node that a VM's own spec refuses needs no intent; one that a rule refuses needs no window.
    """
    if isinstance(goal, ReturnHome):
        return
    board, own = ground.board, goal.request.intent
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
