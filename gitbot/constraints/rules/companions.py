"""VMs that a PlacementRule keeps together, and the rule while a plan moves them as one.

No VM of such a group can move alone without a breach. So the law has one exception: a plan may
move all of the group to one other domain, without a pause, and while it does, the group's VMs may
be in the old domain or in the new one. Everything else that the rule says holds throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gitbot.constraints.rules.rule_parts import AffinityPart, NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Occupancy, RuleConstraint
from gitbot.model.plan.plan import Move

_Circle = tuple[int, str]  # the id of the peers that VMs share, and their domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Two or more VMs in one domain of a topology key, and all nodes by their domains.

    `on`: the nodes on which each VM is.
    """

    vms: frozenset[NamespacedName]
    key: str
    value: str
    domain_of: dict[str, str]
    on: Mapping[NamespacedName, frozenset[str]]


def kept_together(rule: RuleConstraint, occupancy: Occupancy) -> tuple[Group, ...]:
    """The groups that a Required rule keeps in one domain each, as they are now.

    None where pods that do not move are among the company, or terms have several topology keys.
    """
    if not rule.required or rule.ref.of_vm:
        return ()
    near = (part for part in rule.parts if isinstance(part, AffinityPart))
    return tuple(group for part in near for group in _groups(part, occupancy))


def moving_as_one(rule: RuleConstraint, group: Group, target: str) -> RuleConstraint:
    """The rule while the group moves: each VM may be where it is now, and in the new domain."""
    there = frozenset(node for node, value in group.domain_of.items() if value == target)
    by_place = grouped((group.on[vm], vm) for vm in sorted(group.vms))
    parts: list[object] = []
    for part in rule.parts:
        if isinstance(part, AffinityPart):
            rest = {vm: terms for vm, terms in part.terms.items() if vm not in group.vms}
            parts += [replace(part, terms=rest, first=part.first - group.vms)] if rest else []
            words = f"{group.value} or {target} while its group moves"
            parts += [
                NodePart(
                    name=f"together-{vms[0]}",
                    subjects=frozenset(vms),
                    nodes=there | on,
                    wanted=words,
                )
                for on, vms in by_place.items()
            ]
        else:
            parts.append(part)
    changed: RuleConstraint = replace(cast("Any", rule), parts=tuple(parts))
    return changed


def pauses(timed: Sequence[tuple[int, Move]]) -> bool:
    """Whether a move starts after all earlier ones have ended; pairs of start and move in order."""
    ends = timed[0][0]
    for start, move in timed:
        if start > ends:
            return True
        ends = max(ends, start + move.estimated_seconds)
    return False


def _groups(part: AffinityPart, occupancy: Occupancy) -> Iterator[Group]:
    every = {id(peers): peers for terms in part.terms.values() for peers in terms}
    keys = {peers.topology_key for peers in every.values()}
    if len(keys) != 1 or any(peers.fixed for peers in every.values()):
        return
    (topology_key,) = keys
    column = dict(part.domains.column(topology_key))
    places = {vm: {column.get(node) for node in occupancy.get(vm, ())} for vm in part.members}
    single = ((vm, value) for vm, held in places.items() if len(held) == 1 for value in held)
    at = {vm: value for vm, value in single if value is not None}
    asking = grouped(
        ((id(peers), at[vm]), vm) for vm, terms in part.terms.items() if vm in at for peers in terms
    )
    asked = grouped(
        ((key, at[vm]), vm) for key, peers in every.items() for vm in peers.vms if vm in at
    )
    circles = {key: {*vms, *asked[key]} for key, vms in asking.items() if key in asked}
    several = (found for found in _connected(circles) if len(found[1]) > 1)
    for value, vms in sorted(several, key=lambda found: min(found[1] & part.terms.keys())):
        on = {vm: frozenset(occupancy.get(vm, ())) for vm in vms}
        yield Group(vms=vms, key=topology_key, value=value, domain_of=column, on=on)


def _connected(
    circles: Mapping[_Circle, set[NamespacedName]],
) -> Iterator[tuple[str, frozenset[NamespacedName]]]:
    """Domain and VMs of each connected part of VMs that must be near to each other."""
    of = grouped((vm, key) for key, vms in circles.items() for vm in vms)
    left = set(circles)
    for first in circles:
        found, new = set[NamespacedName](), [first] if first in left else []
        while new:  # each circle adds to it once
            one = new.pop()
            if one in left:
                left.discard(one)
                new += [other for vm in circles[one] - found for other in of[vm]]
                found |= circles[one]
        if found:
            yield first[1], frozenset(found)
