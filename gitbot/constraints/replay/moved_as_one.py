"""Which groups of VMs a plan moves as one: the only moves that a rule's affinity lets pass."""

from __future__ import annotations

from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.rules.companions import Group, kept_together, moving_as_one
from gitbot.model.plan.constraint import Occupancy, RuleConstraint


def as_planned(rule: RuleConstraint, occupancy: Occupancy, order: MoveOrder) -> RuleConstraint:
    """The rule as it is judged while the plan moves groups that it keeps together."""
    for group in kept_together(rule, occupancy):
        target = _target(group, order)
        if target:
            rule = moving_as_one(rule, group, target)
    return rule


def _target(group: Group, order: MoveOrder) -> str:
    """The domain to which a plan moves the whole group; "" if it does not move it as one.

    As one: each VM once, all in one group of one request, to one domain, none waits for a node to
    return, and each starts before all earlier ones have ended.
    """
    timed = [
        (start or 0, move)
        for start, move in zip(order.starts, order.moves, strict=True)
        if move.vm.namespaced_name in group.vms
    ]
    moves = [move for _, move in timed]
    if sorted(move.vm.namespaced_name for move in moves) != sorted(group.vms):
        return ""
    nodes = {node for move in moves for node in (move.to.node, *move.allowed_nodes)}
    values = {group.domain_of.get(node, "") for node in nodes}
    causes = {(move.request, move.group) for move in moves}
    if len(causes) > 1 or len(values) > 1 or any(move.after_return for move in moves):
        return ""
    ends = timed[0][0]
    for start, move in timed:
        if start > ends:
            return ""
        ends = max(ends, start + move.estimated_seconds)
    (value,) = values
    return value if value != group.value else ""
