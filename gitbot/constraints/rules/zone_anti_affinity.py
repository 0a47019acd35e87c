"""ZoneAntiAffinity: limits how many of the selected VMs may be in one domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.domains import Domains, domain_words, people
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.plan.constraint import Breach, DomainMaximum, Occupancy, RuleConstraint
from gitbot.model.text.names import IntentRef

_FEW = 3  # most empty domains in a message


def select_vms(
    instances: Instances, namespace: str, selector: Mapping[str, Any]
) -> frozenset[NamespacedName]:
    """The VMs of a namespace whose labels (VMI, else the VM's template) a selector matches."""
    return frozenset(instances.by_label.matching(LabelMatcher.of(selector), (namespace,)))


def all_apart(
    rules: Sequence[RuleConstraint], occupancy: Occupancy, among: Iterable[int] | None = None
) -> frozenset[int]:
    """The rules, by number, whose VMs have one place each, all in different domains: unbroken.

    Among all rules, or the given ones: a quick test of many.
    """
    found = []
    places = {held for held in occupancy.values() if len(held) == 1}
    known: dict[tuple[int, str], Mapping[frozenset[str] | None, str | None]] = {}
    for number in range(len(rules)) if among is None else among:
        rule = rules[number]
        if not isinstance(rule, ZoneAntiAffinity) or rule.max_per_domain < 1:
            continue
        domains = known.get(key := (id(rule.domains), rule.topology_key))
        if domains is None:
            get = rule.domains.column(rule.topology_key).get
            domains = known[key] = {held: get(node) for held in places for node in held}
        values = set(map(domains.get, map(occupancy.get, rule.members)))
        if len(values) == len(rule.members) and None not in values:
            found.append(number)
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneAntiAffinity:
    """At most `max_per_domain` of the members in one domain of `topology_key`.

    Breach keys: `domain=<value>` with the number of members above the maximum, and
    `unlabelled:<namespace>/<vm>` for a member on a node without the key. A VM that moves counts
    once in each of its domains.
    """

    ref: IntentRef
    members: frozenset[NamespacedName]
    domains: Domains
    topology_key: str = ZONE
    max_per_domain: int = 1
    required: bool = True
    monotone: ClassVar[bool] = True  # freeing a place never makes it worse
    parts: ClassVar[tuple[object, ...]] = ()

    @property
    def maximum(self) -> DomainMaximum:
        return DomainMaximum(topology_key=self.topology_key, most=self.max_per_domain)

    def signature(self, node: str) -> object:
        return self.domains.column(self.topology_key).get(node)

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        column = self.domains.column(self.topology_key)
        if self._all_apart(column, occupancy):
            return ()
        held: dict[str, set[NamespacedName]] = {}
        lost: dict[NamespacedName, str] = {}
        for vm in sorted(self.members & occupancy.keys()):
            for node in sorted(occupancy[vm]):
                if node in column:
                    held.setdefault(column[node], set()).add(vm)
                else:
                    lost.setdefault(vm, node)
        full = [value for value in sorted(held) if len(held[value]) > self.max_per_domain]
        empty = self._empty(held.keys()) if full else ""
        crowded = [self._crowded(value, held[value], occupancy, empty) for value in full]
        return (*crowded, *(self._unlabelled(vm, node) for vm, node in lost.items()))

    def kind(self, vm: NamespacedName) -> object:
        return vm in self.members

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        get, most = self.domains.column(self.topology_key).get, self.max_per_domain
        values = {vm: set(map(get, occupancy.get(vm, ()))) for vm in self.members}
        held = Counter(chain.from_iterable(values.values()))
        found: dict[object, int] = {vm: 1 for vm, own in values.items() if None in own}
        for value, count in held.items():
            if value is not None and count > most:
                found[value] = count - most
        return found

    def _all_apart(self, column: Mapping[str, str], occupancy: Occupancy) -> bool:
        """Whether every place is in its own domain: a quick test for the usual case."""
        places = list(chain.from_iterable(occupancy.get(vm, ()) for vm in self.members))
        values = set(map(column.get, places))
        return self.max_per_domain > 0 and len(values) == len(places) and None not in values

    def room_for(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """A domain that could take the VM if a node there had room; "" if all are full.

        The domain of `node`, where the VM runs, is first: a move inside it changes no count.
        """
        column = self.domains.column(self.topology_key)
        others = {other: occupancy[other] for other in self.members & occupancy.keys() - {vm}}
        held: dict[str, set[NamespacedName]] = {value: set() for value in column.values()}
        for other, nodes in others.items():
            for value in {column[place] for place in nodes if place in column}:
                held[value].add(other)
        free = sorted(value for value, vms in held.items() if len(vms) < self.max_per_domain)
        here = column.get(node, "")
        return here if here in free else (free[0] if free else "")

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """`zone scu already holds mssql2016 on kni-worker2, and zone sab would hold none`."""
        column = self.domains.column(self.topology_key)
        if vm not in self.members:
            return ""
        if node not in column:
            return f"node {node} has no label {self.topology_key}, so the rule cannot place it"
        value = column[node]
        others = {
            other: occupancy[other] for other in sorted(self.members & occupancy.keys() - {vm})
        }
        places = {
            other: [place for place in nodes if column.get(place) == value]
            for other, nodes in others.items()
        }
        there = {other: nodes for other, nodes in places.items() if nodes}
        if len(there) < self.max_per_domain:
            return ""
        held = {column[place] for nodes in others.values() for place in nodes if place in column}
        missing = self._without(held | {value})
        left = f", and {missing} would hold none" if missing else ""
        here = domain_words(self.topology_key, value)
        return f"{here} already holds {people(there, there)}{left}"

    def shortage(self) -> str:
        """Why no placement can keep the rule; "" if one can."""
        values = self.domains.values(self.topology_key)
        room, wanted = len(values) * self.max_per_domain, len(self.members)
        if wanted <= room:
            return ""
        listed = ", ".join(values) or "none"
        return (
            f"{wanted} VMs, but {len(values)} domains of {self.topology_key} ({listed}) hold at "
            f"most {self.max_per_domain} each: {room} < {wanted}"
        )

    def _empty(self, held: Collection[str]) -> str:
        """`; zone scu holds none`: it shows where a VM is missing; "" if many domains are empty."""
        missing = self._without(held)
        return f"; {missing} {'hold' if ' and ' in missing else 'holds'} none" if missing else ""

    def _without(self, held: Collection[str]) -> str:
        """`zone scu and zone bcn`: the empty domains; "" if there is none, or many."""
        empty = [value for value in self.domains.values(self.topology_key) if value not in held]
        if len(empty) > _FEW:
            return ""
        return " and ".join(domain_words(self.topology_key, value) for value in empty)

    def _crowded(
        self, value: str, vms: set[NamespacedName], occupancy: Occupancy, empty: str
    ) -> Breach:
        column = self.domains.column(self.topology_key)
        places = {vm: [n for n in occupancy[vm] if column.get(n) == value] for vm in vms}
        return Breach(
            rule=self.ref,
            key=f"domain={value}",
            amount=len(vms) - self.max_per_domain,
            message=f"{domain_words(self.topology_key, value)} holds {len(vms)} of at most "
            f"{self.max_per_domain}: {people(vms, places)}{empty}",
            vms=tuple(sorted(vms)),
        )

    def _unlabelled(self, vm: NamespacedName, node: str) -> Breach:
        return Breach(
            rule=self.ref,
            key=f"unlabelled:{vm}",
            amount=1,
            message=f"{vm.name} is on {node}, which has no label {self.topology_key}",
            vms=(vm,),
        )


def zone_anti_affinity(
    instances: Instances,
    *,
    ref: IntentRef,
    namespace: str,
    selector: Mapping[str, Any],
    topology_key: str = ZONE,
    max_per_domain: int = 1,
    required: bool = True,
) -> ZoneAntiAffinity:
    """The rule over the VMs of a snapshot that the selector (Kubernetes JSON) matches."""
    return ZoneAntiAffinity(
        ref=ref,
        members=select_vms(instances, namespace, selector),
        domains=instances.domains,
        topology_key=topology_key,
        max_per_domain=max_per_domain,
        required=required,
    )
