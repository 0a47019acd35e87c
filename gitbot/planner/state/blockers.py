"""Which VMs must leave before another VM can go to a node: for swaps and chains of moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import CREATED_BY
from gitbot.planner.plan_types import TargetPolicy
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import lingers

_ROOM = "NodeResourcesFit"


def blockers(
    board: PlanState,
    vm: NamespacedName,
    node: str,
    wish: TargetPolicy,
    may: Callable[[NamespacedName], bool],
) -> frozenset[NamespacedName] | None:
    """The VMs whose rules and terms keep a VM off a node; None if nothing changes when VMs leave.

    Ignores room. If all of them were gone and there were room, the step could start. None, too, if
    one of them may not leave.
    """
    if node in wish.closed or node == board.place(vm) or node in board.facts.twins:
        return None
    found = set[NamespacedName]()
    for member in _by_rules(board, vm, node):
        if not may(member):
            return None
        found.add(member)
    transit = board.transit
    for pod in transit.world.conflicts_between(transit.target_pod(vm), node):
        other = transit.instances.by_uid.get(pod.labels.get(CREATED_BY, ""))
        if other is None or lingers(board, other, transit.world.node_of(pod.name)):
            return None
        if other != vm:
            if not may(other):
                return None
            found.add(other)
    with board.trial():
        for other in found:
            board.lift(other)
        rejections = transit.world.check(transit.target_pod(vm), node)
        if any(item.plugin != _ROOM for item in rejections) or not board.keeps(vm, node):
            return None
    return frozenset(found)


def _by_rules(board: PlanState, vm: NamespacedName, node: str) -> Iterator[NamespacedName]:
    """The other members in the node's domain, of each required rule that a move would break."""
    if board.keeps(vm, node):
        return
    for rule in board.facts.rules_over(vm):
        if rule.required:
            near = board.facts.alike(rule, node)
            for other, nodes in board.places(rule.members - {vm}).items():
                if any(not lingers(board, other, place) for place in nodes & near):
                    yield other
