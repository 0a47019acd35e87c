"""VMs that a PlacementRule keeps together, and the rule while a plan moves them as one.

No VM of such a group can move alone without a breach. So the law has one exception: a plan may
move all of the group to one other domain, without a pause, and while it does, the group's VMs may
be in the old domain or in the new one. Everything else that the rule says holds throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from gitbot.constraints.rules.rule_parts import AffinityPart, NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Occupancy, RuleConstraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Two or more VMs in one domain, and all nodes by their domains."""

    vms: frozenset[NamespacedName]
    value: str
    domain_of: dict[str, str]


def kept_together(rule: RuleConstraint, occupancy: Occupancy) -> tuple[Group, ...]:
    """The groups that a Required rule keeps in one domain each, as they are now.

    None where pods that do not move are among the company, or terms have several topology keys.
    """
    if not rule.required or rule.ref.of_vm:
        return ()
    near = (part for part in rule.parts if isinstance(part, AffinityPart))
    return tuple(group for part in near for group in _groups(part, occupancy))


def moving_as_one(rule: RuleConstraint, group: Group, target: str) -> RuleConstraint:
    """The rule while the group moves: its VMs may be in the old domain and in the new one."""
    nodes = frozenset(n for n, value in group.domain_of.items() if value in (group.value, target))
    parts: list[object] = []
    for part in rule.parts:
        if isinstance(part, AffinityPart):
            rest = {vm: terms for vm, terms in part.terms.items() if vm not in group.vms}
            parts += [replace(part, terms=rest, first=part.first - group.vms)] if rest else []
            words = f"{group.value} or {target} while its group moves"
            name = f"together-{min(group.vms)}"
            parts.append(NodePart(name=name, subjects=group.vms, nodes=nodes, wanted=words))
        else:
            parts.append(part)
    changed: RuleConstraint = replace(cast("Any", rule), parts=tuple(parts))
    return changed


def _groups(part: AffinityPart, occupancy: Occupancy) -> Iterator[Group]:
    every = [peers for terms in part.terms.values() for peers in terms]
    keys = {peers.topology_key for peers in every}
    if len(keys) != 1 or any(peers.fixed for peers in every):
        return
    column = dict(part.domains.column(keys.pop()))
    places = {vm: {column.get(node) for node in occupancy.get(vm, ())} for vm in part.members}
    at = {vm: value for vm, values in places.items() for value in values if len(values) == 1}
    left = set(at)
    for vm in sorted(part.terms.keys() & at.keys()):
        value = at[vm]
        found, new = set[NamespacedName](), [vm] if vm in left and value is not None else []
        while new:  # each round takes a VM out of `left`
            one = new.pop()
            if one in left:
                left.discard(one)
                found.add(one)
                new += [other for other in _company(part, one) if at.get(other) == value]
        if len(found) > 1 and value is not None:
            yield Group(vms=frozenset(found), value=value, domain_of=column)


def _company(part: AffinityPart, vm: NamespacedName) -> Iterator[NamespacedName]:
    """The VMs that a VM must be near to, and those that must be near to it."""
    for peers in part.terms.get(vm, ()):
        yield from peers.vms
    for other, terms in part.terms.items():
        if any(vm in peers.vms for peers in terms):
            yield other
