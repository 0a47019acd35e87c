"""Which groups of VMs a plan moves as one: the only moves that a rule's affinity lets pass."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.rules.companions import Group, kept_together, moving_as_one, pauses
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.caches import LastValueCache
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.constraint import Occupancy, RuleConstraint


def as_planned(
    rule: RuleConstraint, occupancy: Occupancy, order: MoveOrder, allowed: Mapping[RequestId, int]
) -> RuleConstraint:
    """The rule as it is judged while the plan moves groups that it keeps together.

    `allowed`: by request, the seconds that a breach with pauses may last.
    """
    for group in kept_together(rule, occupancy):
        target = _target(group, order, allowed)
        if target:
            rule = moving_as_one(rule, group, target)
    return rule


def _target(group: Group, order: MoveOrder, allowed: Mapping[RequestId, int]) -> str:
    """The domain to which a plan moves the whole group; "" if it does not move it as one.

    As one: each VM once, all in one group of one request, to one domain, all or none wait for
    nodes to return, and each starts before all earlier ones have ended, or the request allows the
    time from the first landing to the last. What waits for nodes waits for all of them, so they
    start together (execution/start_waits.py).
    """
    of_vm = _numbers(order)
    numbers = sorted(number for vm in group.vms for number in of_vm.get(vm, ()))
    timed = [(order.starts[number] or 0, order.moves[number]) for number in numbers]
    moves = [move for _, move in timed]
    if sorted(move.vm.namespaced_name for move in moves) != sorted(group.vms):
        return ""
    nodes = {node for move in moves for node in (move.to.node, *move.allowed_nodes)}
    values = {group.domain_of.get(node, "") for node in nodes}
    causes = {(move.request, move.group) for move in moves}
    waits = {move.after_return for move in moves}
    if len(causes) > 1 or len(values) > 1 or len(waits) > 1:
        return ""
    landings = [start + move.estimated_seconds for start, move in timed]
    if pauses(timed) and max(landings) - min(landings) > allowed.get(moves[0].request, 0):
        return ""
    (value,) = values
    return value if value != group.value else ""


_numbers = LastValueCache[MoveOrder, Mapping[NamespacedName, tuple[int, ...]]](
    lambda order, _: grouped(
        (move.vm.namespaced_name, number) for number, move in enumerate(order.moves)
    )
)
"""The numbers of the moves of each VM: looking for them per group grows with the square."""
