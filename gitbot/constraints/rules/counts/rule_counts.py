"""Rules as counts by domain: for all nodes at once, whether a VM's move would make a rule worse.

This is the incremental form of `rule.breaches` over the endings of one move (`rule_check`): taking
or freeing a place changes the counts of its domains, and a question reads the counts of one group.
The rules themselves decide; laws in the tests hold the two forms together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from gitbot.constraints.rules.counts.affinity_counts import NearCounts
from gitbot.constraints.rules.counts.spread_counts import SpreadCounts
from gitbot.constraints.rules.node_domains import NodeDomains
from gitbot.constraints.rules.rule_parts import (
    AffinityPart,
    AntiAffinityPart,
    NodePart,
    Peers,
    SpreadPart,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, NodeColumns
from gitbot.model.plan.constraint import DomainMaximum, Occupancy, RuleConstraint

_Nodes = frozenset[str]


class PartCounts(Protocol):
    """The counts of one part of a rule."""

    def fork(self) -> PartCounts: ...

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        """Count a VM that held places on `before` and now holds them on `after`."""

    def keep(self, mask: Mask, vm: NamespacedName, source: str, held: _Nodes) -> None:
        """Clear the nodes to which a move of the VM would make the part worse, in any ending.

        The VM holds `held` now and frees `source` if the move succeeds. For rules that are not
        monotone, it holds no other place, and no other member moves.
        """


def counts_of(
    rule: RuleConstraint, columns: NodeColumns, occupancy: Occupancy
) -> tuple[PartCounts, ...] | None:
    """The counts of a rule's parts at an occupancy; None for a rule without this form."""
    if rule.maximum is not None and rule.maximum.most > 0:
        parts: tuple[PartCounts, ...] = (MostCounts(rule.maximum, columns),)
    elif rule.parts:
        parts = tuple(_part(part, columns) for part in rule.parts)
    else:
        return None
    nowhere: _Nodes = frozenset()
    for vm in rule.members:
        places = occupancy.get(vm)
        if places:
            for part in parts:
                part.shift(vm, nowhere, places)
    return parts


def _part(
    part: NodePart | AntiAffinityPart | AffinityPart | SpreadPart | object, columns: NodeColumns
) -> PartCounts:
    match part:
        case NodePart():
            return NodeCounts(part, columns)
        case AntiAffinityPart():
            return ApartCounts(part, columns)
        case AffinityPart():
            return NearCounts(part, columns)
        case SpreadPart():
            return SpreadCounts(part, columns)
    raise TypeError(type(part))


class MostCounts:
    """A maximum: a full domain takes only VMs that are in it already."""

    def __init__(self, maximum: DomainMaximum, columns: NodeColumns) -> None:
        self._domains = NodeDomains(columns, maximum.topology_key)
        self._most = maximum.most
        self._held: dict[int, int] = {}

    def fork(self) -> MostCounts:
        copy = object.__new__(MostCounts)
        copy._domains, copy._most = self._domains, self._most
        copy._held = dict(self._held)
        return copy

    def shift(self, _vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        self._domains.count(self._held, before, after)

    def keep(self, mask: Mask, _vm: NamespacedName, _source: str, held: _Nodes) -> None:
        mine = self._domains.of(held)
        if -1 not in mine:
            self._domains.leave_unlabelled(mask)
        full = [domain for domain, count in self._held.items() if count >= self._most]
        self._domains.leave(mask, (domain for domain in full if domain not in mine))


class NodeCounts:
    """NodePart: only its nodes, unless the VM is on a wrong one already."""

    def __init__(self, part: NodePart, columns: NodeColumns) -> None:
        self._part = part
        self._inside = np.array([name in part.nodes for name in columns.names], dtype=bool)

    def fork(self) -> NodeCounts:
        return self

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        """Nothing to count: each VM is judged alone."""

    def keep(self, mask: Mask, vm: NamespacedName, _source: str, held: _Nodes) -> None:
        if vm in self._part.subjects and held <= self._part.nodes:
            mask &= self._inside


class _Sides:
    """VMs with the same peers, and those peers; each side is counted by domain."""

    def __init__(
        self, peers: Peers, subjects: frozenset[NamespacedName], columns: NodeColumns
    ) -> None:
        self.domains = NodeDomains(columns, peers.topology_key)
        self.peers, self.subjects = peers.vms, subjects
        self.fixed = self.domains.of(peers.fixed) - {-1}
        self.by_peers: dict[int, int] = {}
        self.by_subjects: dict[int, int] = {}

    def fork(self) -> _Sides:
        copy = object.__new__(_Sides)
        copy.domains, copy.fixed = self.domains, self.fixed
        copy.peers, copy.subjects = self.peers, self.subjects
        copy.by_peers, copy.by_subjects = dict(self.by_peers), dict(self.by_subjects)
        return copy

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        if vm in self.peers:
            self.domains.count(self.by_peers, before, after)
        if vm in self.subjects:
            self.domains.count(self.by_subjects, before, after)


class ApartCounts:
    """ApartPart: no domain with a peer of the VM, or with a VM whose peer it is."""

    def __init__(self, part: AntiAffinityPart, columns: NodeColumns) -> None:
        self._sides = [
            _Sides(peers, frozenset(vms), columns) for peers, vms in subjects_by_peers(part.terms)
        ]

    def fork(self) -> ApartCounts:
        copy = object.__new__(ApartCounts)
        copy._sides = [side.fork() for side in self._sides]
        return copy

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        for side in self._sides:
            side.shift(vm, before, after)

    def keep(self, mask: Mask, vm: NamespacedName, _source: str, held: _Nodes) -> None:
        """A pair in a domain where the VM already holds a place is not new."""
        for side in self._sides:
            foes: set[int] = set()
            if vm in side.subjects:
                foes |= side.by_peers.keys() | side.fixed
            if vm in side.peers:
                foes |= side.by_subjects.keys()
            if foes:
                side.domains.leave(mask, foes - side.domains.of(held))


def subjects_by_peers(
    terms: Mapping[NamespacedName, Iterable[Peers]],
) -> list[tuple[Peers, set[NamespacedName]]]:
    """The distinct peers of a part's terms, each with the VMs whose terms they are."""
    found: dict[tuple[str, frozenset[NamespacedName], frozenset[str]], set[NamespacedName]] = {}
    for vm, listed in terms.items():
        for peers in listed:
            found.setdefault((peers.topology_key, peers.vms, peers.fixed), set()).add(vm)
    return [
        (Peers(topology_key=key, vms=vms, fixed=fixed), subjects)
        for (key, vms, fixed), subjects in found.items()
    ]
