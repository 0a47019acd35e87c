"""What the proofs count: where each VM can be at all, and how much room nodes have for VMs.

Nothing here depends on where movable VMs are now, except for breaches that may stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gitbot.constraints.rules.rule_parts import AntiAffinityPart, NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.planner.checks import refused
from gitbot.planner.state.plan_state import PlanState

_NOTHING: Mapping[str, int] = {}
_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLimit:
    """VMs of which each domain of a label takes at most `most`, and the excess there now."""

    rule: RuleConstraint
    key: str
    members: frozenset[NamespacedName]
    most: int
    excess: Mapping[str, int]

    def room(self, domain: str, *, healed: bool) -> int:
        return self.most + (0 if healed else self.excess.get(domain, 0))


class CapacityModel:
    """Facts of one board. Masks and columns have one entry for each node."""

    def __init__(self, board: PlanState) -> None:
        self.board = board
        self._nodes: dict[NamespacedName, Mask] = {}
        self._least: dict[NamespacedName, Mapping[str, int]] = {}
        self._equal: dict[bytes, Mask] = {}
        self._but: dict[tuple[int, int], tuple[Mask, Mask, Mask]] = {}
        self._domains: dict[tuple[int, str], tuple[Mask, frozenset[int]]] = {}
        self._base: dict[str, Numbers] = {}

    @cached_property
    def held(self) -> Mapping[NamespacedName, Mapping[str, int]]:
        """What each VM takes where it is, without those that start or move: their places stay.

        An old launcher pod of a VM stays as well; the VM itself can leave where it is.
        """
        board, found = self.board, dict[NamespacedName, dict[str, int]]()
        by_uid = {item.uid: name for name, item in board.transit.instances.items()}
        for pod, number in board.transit.world.state.placed.values():
            vm = by_uid.get(pod.labels.get(CREATED_BY, "")) if number >= 0 else None
            if vm is None or board.nodes[number] != (home := board.place(vm)):
                continue
            old = board.facts.lingering.get(vm, _NOWHERE) - {home}
            if board.occupancy.get(vm, _NOWHERE) - old == {home}:
                total = found.setdefault(vm, {"pods": 0})
                total["pods"] += 1
                for resource, amount in pod.requests.held.items():
                    total[resource] = total.get(resource, 0) + amount
        return found

    @cached_property
    def on(self) -> Mapping[int, Sequence[NamespacedName]]:
        """The VMs of `held` by node number."""
        found: dict[int, list[NamespacedName]] = {}
        for vm in sorted(self.held):
            found.setdefault(self.board.number[self.board.place(vm)], []).append(vm)
        return found

    def base(self, resource: str) -> Numbers:
        """Room for VMs in the end: what other pods leave, or more if VMs use more now."""
        found = self._base.get(resource)
        if found is None:
            found = np.maximum(self.board.room(resource), 0)
            for number, vms in self.on.items():
                found[number] += sum(self.held[vm].get(resource, 0) for vm in vms)
            self._base[resource] = found
        return found

    def least(self, vm: NamespacedName) -> Mapping[str, int]:
        """The least that a VM takes, here or elsewhere."""
        found = self._least.get(vm)
        if found is None:
            held = self.held.get(vm, _NOTHING)
            asks = self.board.transit.asks(vm)
            found = {name: min(amount, held.get(name, 0)) for name, amount in asks.items()}
            self._least[vm] = found
        return found

    def nodes(self, vm: NamespacedName) -> Mask:
        """Where a VM could go if all others were gone, by nodes, claims and rules about nodes."""
        found = self._nodes.get(vm)
        if found is None:
            found = self.by_spec(vm).copy()
            for _, part in self.parts(vm):
                found &= self.mask(part.nodes)
            found = self._nodes[vm] = self.once(found)
        return found

    def by_spec(self, vm: NamespacedName) -> Mask:
        """Where a VM could go if all others and all rules were gone."""
        return self.board.transit.world.open_to(self.board.transit.target_pod(vm))

    def once(self, mask: Mask) -> Mask:
        """One mask for equal masks."""
        return self._equal.setdefault(mask.tobytes(), mask)

    def without(self, mask: Mask, closed: Mask) -> Mask:
        """The nodes of the first mask that are not closed."""
        known = self._but.get((id(mask), id(closed)))
        if known is None:
            known = self._but[id(mask), id(closed)] = (mask, closed, self.once(mask & ~closed))
        return known[2]

    def domains(self, mask: Mask, key: str) -> frozenset[int]:
        """The values of a label on these nodes, by number; -1 if a node lacks it."""
        known = self._domains.get((id(mask), key))
        if known is None:
            ids = self.board.transit.world.state.columns.label(key).ids[mask]
            known = self._domains[id(mask), key] = (mask, frozenset(ids.tolist()))
        return known[1]

    def values(self, key: str) -> Sequence[str]:
        """The values of a label by number."""
        return self.board.transit.world.state.columns.label(key).values

    def in_domains(self, key: str, values: frozenset[int]) -> Mask:
        """The nodes with a value of these numbers."""
        ids = self.board.transit.world.state.columns.label(key).ids
        return self.once(np.isin(ids, sorted(values)))

    def parts(self, vm: NamespacedName) -> Iterator[tuple[RuleConstraint, NodePart]]:
        """The required rules that keep a VM on some nodes, where it is now."""
        for rule in self.board.facts.rules_over(vm):
            for part in rule.parts if rule.required else ():
                if not isinstance(part, NodePart) or vm not in part.subjects:
                    continue
                if self.board.place(vm) in part.nodes:
                    yield rule, part

    def mask(self, names: Iterable[str]) -> Mask:
        """These nodes."""
        found: Mask = np.zeros(len(self.board.nodes), dtype=bool)
        found[[self.board.number[name] for name in names if name in self.board.number]] = True
        return self.once(found)

    def fixed(self, vm: NamespacedName) -> bool:
        """Whether no migration of a VM may start."""
        return refused(self.board, vm) is not None

    def crowds(self, rule: RuleConstraint) -> Iterator[DomainLimit]:
        """What a required rule says about VMs that must be apart."""
        occupancy = self.board.occupancy
        if rule.maximum is not None:
            excess = {
                breach.key.removeprefix("domain="): breach.amount
                for breach in rule.breaches(occupancy)
            }
            yield DomainLimit(
                rule=rule,
                key=rule.maximum.topology_key,
                members=rule.members,
                most=rule.maximum.most,
                excess=excess,
            )
        for part in rule.parts:
            if isinstance(part, AntiAffinityPart) and not any(True for _ in part.misses(occupancy)):
                yield from _cliques(rule, part)


def _cliques(rule: RuleConstraint, part: AntiAffinityPart) -> Iterator[DomainLimit]:
    """VMs that must all be apart from each other, by one label."""
    seen: set[tuple[str, frozenset[NamespacedName]]] = set()
    for vm, terms in sorted(part.terms.items()):
        for peers in terms:
            group = peers.vms | {vm}
            alike = all(
                any(p.topology_key == peers.topology_key and group <= p.vms | {other} for p in own)
                for other in group
                for own in (part.terms.get(other, ()),)
            )
            if alike and len(group) > 1 and (peers.topology_key, group) not in seen:
                seen.add((peers.topology_key, group))
                yield DomainLimit(
                    rule=rule, key=peers.topology_key, members=group, most=1, excess={}
                )
