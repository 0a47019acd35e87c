"""The four parts of a PlacementRule as checks over an occupancy: nodes, near, apart, spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Protocol

from gitbot.constraints.rules.domains import Domains, domain_words, people
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.scheduling import SpreadConstraint
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Occupancy

_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBreach:
    """One way in which a part is broken: key and amount of a Breach, text, VMs."""

    key: str
    amount: int
    message: str
    vms: tuple[NamespacedName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """The matches of one affinity term: VMs, and nodes with other pods that do not move."""

    topology_key: str
    vms: frozenset[NamespacedName]
    fixed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tally:
    """Where the peers of one term are: VMs by domain, all of those, and domains of fixed pods."""

    column: Mapping[str, str]
    by_value: Counter[str]
    present: int
    fixed: frozenset[str]

    @classmethod
    def of(cls, peers: Peers, column: Mapping[str, str], occupancy: Occupancy) -> _Tally:
        places = Counter(map(occupancy.get, peers.vms))  # many share one
        by_value = Counter[str]()
        for held, count in places.items():
            for value in {column.get(node) for node in held or ()}:
                if value:
                    by_value[value] += count
        return cls(
            column=column,
            by_value=by_value,
            present=sum(count for held, count in places.items() if held),
            fixed=frozenset(column[node] for node in peers.fixed if node in column),
        )


class RulePart(Protocol):
    """One part of a PlacementRule."""

    @property
    def members(self) -> frozenset[NamespacedName]: ...

    @property
    def monotone(self) -> bool:
        """Whether freeing a place never makes the part worse."""

    def signature(self, node: str) -> object:
        """The part treats nodes with equal signatures alike."""

    def misses(self, occupancy: Occupancy) -> Iterator[PartBreach]: ...

    def kind(self, vm: NamespacedName) -> object:
        """VMs of one kind may change places, and the part is broken as much as before."""

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        """The amount of each of the `misses`, by a key of the part's own; no texts."""

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """Why the VM may not be on the node; "" if it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePart:
    """The VMs may run on some nodes only. `weight` is the amount of each breach."""

    name: str
    subjects: frozenset[NamespacedName]
    nodes: frozenset[str]
    wanted: str
    weight: int = 1
    monotone: ClassVar[bool] = True  # freeing a place cannot create a wrong place

    @property
    def members(self) -> frozenset[NamespacedName]:
        return self.subjects

    def signature(self, node: str) -> object:
        return node in self.nodes

    def misses(self, occupancy: Occupancy) -> Iterator[PartBreach]:
        for vm in sorted(self.subjects & occupancy.keys()):
            wrong = sorted(occupancy[vm] - self.nodes)
            if wrong:
                yield PartBreach(
                    key=f"{self.name}:{vm}",
                    amount=self.weight,
                    message=f"{vm.name} is on {wrong[0]}, but belongs on {self.wanted}",
                    vms=(vm,),
                )

    def kind(self, vm: NamespacedName) -> object:
        return vm in self.subjects

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        here = self.subjects & occupancy.keys()
        return {vm: self.weight for vm in here if not occupancy[vm] <= self.nodes}

    def explain(self, vm: NamespacedName, node: str, _occupancy: Occupancy) -> str:
        if vm not in self.subjects or node in self.nodes:
            return ""
        return f"{vm.name} belongs on {self.wanted}, which {node} is not"


@dataclass(frozen=True, slots=True, kw_only=True)
class _TermPart:
    """`terms` holds, for each subject, its terms with what matches them; `keys` are theirs."""

    name: str
    domains: Domains
    terms: Mapping[NamespacedName, tuple[Peers, ...]]
    weight: int = 1
    keys: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        keys = {peers.topology_key for terms in self.terms.values() for peers in terms}
        object.__setattr__(self, "keys", tuple(sorted(keys)))

    @property
    def members(self) -> frozenset[NamespacedName]:
        others = (peers.vms for terms in self.terms.values() for peers in terms)
        return frozenset(self.terms).union(*others)

    def signature(self, node: str) -> object:
        return tuple(self.domains.column(key).get(node) for key in self.keys)

    def kind(self, vm: NamespacedName) -> object:
        every = {id(peers): peers for terms in self.terms.values() for peers in terms}
        matched = tuple(number for number, peers in every.items() if vm in peers.vms)
        return tuple(map(id, self.terms.get(vm, ()))), matched


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityPart(_TermPart):
    """Each VM has a companion in its domain, for each of its terms; as podAffinity.

    A pod that matches a term matches all terms of its subject here. `first` are the subjects that
    match their own terms, and so may be alone if nothing else matches.
    """

    first: frozenset[NamespacedName] = frozenset()
    alike: tuple[tuple[NamespacedName, ...], ...] = field(init=False, compare=False)
    """The subjects, in groups that need the same company."""
    monotone: ClassVar[bool] = False  # it gets worse when a companion leaves

    def __post_init__(self) -> None:
        _TermPart.__post_init__(self)
        needs = ((self._needs(vm), vm) for vm in self.terms)
        object.__setattr__(self, "alike", tuple(grouped(needs).values()))

    def _needs(self, vm: NamespacedName) -> object:
        terms = self.terms[vm]
        return *map(id, terms), *[vm in peers.vms for peers in terms], vm in self.first

    def misses(self, occupancy: Occupancy) -> Iterator[PartBreach]:
        for vm in sorted(self._lonely(occupancy)):
            words = (self._alone(vm, node, occupancy) for node in sorted(occupancy[vm]))
            found = next(text for text in words if text)
            yield PartBreach(key=f"{self.name}:{vm}", amount=self.weight, message=found, vms=(vm,))

    def kind(self, vm: NamespacedName) -> object:
        return _TermPart.kind(self, vm), vm in self.first

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        return dict.fromkeys(self._lonely(occupancy), self.weight)

    def _lonely(self, occupancy: Occupancy) -> Iterator[NamespacedName]:
        """The subjects without company on a node where they hold a place."""
        if self._all_near(occupancy):
            return
        tallies: dict[int, _Tally] = {}  # by the id of the peers, which many subjects share
        for vms in self.alike:
            known: dict[frozenset[str] | None, bool] = {None: True}
            for vm in vms:
                held = occupancy.get(vm)
                near = known.get(held)
                if near is None:
                    near = all(self._near(vm, node, occupancy, tallies) for node in held or ())
                    known[held] = near
                if not near:
                    yield vm

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        return self._alone(vm, node, occupancy) if vm in self.terms else ""

    def _all_near(self, occupancy: Occupancy) -> bool:
        """Whether each term has several VMs and all share one domain: a quick test."""
        seen: set[int] = set()
        for vm, terms in self.terms.items():
            for peers in terms:
                if vm not in peers.vms:
                    return False
                if id(peers) not in seen:
                    seen.add(id(peers))
                    get = self.domains.column(peers.topology_key).get
                    places = [occupancy.get(other, _NOWHERE) for other in peers.vms]
                    values = set(map(get, chain.from_iterable(places)))
                    if len(values) > 1 or None in values or sum(map(bool, places)) == 1:
                        return False
        return True

    def _near(
        self,
        vm: NamespacedName,
        node: str,
        occupancy: Occupancy,
        tallies: dict[int, _Tally],
    ) -> bool:
        """Whether the VM has company in the domain of the node, for each term; as `_alone`."""
        for peers in self.terms[vm]:
            tally = tallies.get(id(peers))
            if tally is None:
                column = self.domains.column(peers.topology_key)
                tally = tallies[id(peers)] = _Tally.of(peers, column, occupancy)
            itself = vm in peers.vms
            value = tally.column.get(node)
            if value is None:
                return False
            if vm in self.first and tally.present <= itself and not peers.fixed:
                continue  # nothing else matches anywhere: the first one may be alone
            if tally.by_value[value] <= itself and value not in tally.fixed:
                return False
        return True

    def _alone(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        for peers in self.terms[vm]:
            column = self.domains.column(peers.topology_key)
            value = column.get(node)
            if value is None:
                return f"{node} has no label {peers.topology_key}, which {vm.name} needs there"
            others = [other for other in peers.vms if other != vm and occupancy.get(other)]
            if vm in self.first and not others and not peers.fixed:
                continue
            near = any(column.get(place) == value for other in others for place in occupancy[other])
            if not near and not any(column.get(place) == value for place in peers.fixed):
                where = domain_words(peers.topology_key, value)
                wanted = ", ".join(sorted(other.name for other in peers.vms - {vm})[:3])
                wanted = wanted or ("pods that do not move" if peers.fixed else "nothing matches")
                return f"{where} has no VM or pod that {vm.name} must be near ({wanted})"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AntiAffinityPart(_TermPart):
    """No VM shares a domain with a match of its terms; as podAntiAffinity.

    The amount of a breach is the number of pairs in one domain, times the weight.
    """

    monotone: ClassVar[bool] = True  # freeing a place cannot create a pair

    def misses(self, occupancy: Occupancy) -> Iterator[PartBreach]:
        for (key, value), found in sorted(self._pairs(occupancy).items()):
            vms = tuple(sorted({vm for pair in found for vm in pair}))
            places = {vm: occupancy[vm] for vm in vms}
            yield PartBreach(
                key=f"{self.name}:{key}={value}",
                amount=self.weight * len(found),
                message=f"{domain_words(key, value)} holds what must be apart: "
                f"{people(vms, places)}",
                vms=vms,
            )

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        subjects: dict[str, dict[int, list[NamespacedName]]] = {}
        shared: dict[int, Peers] = {}
        for vm in self.terms.keys() & occupancy.keys():
            for peers in self.terms[vm]:
                shared[id(peers)] = peers
                subjects.setdefault(peers.topology_key, {}).setdefault(id(peers), []).append(vm)
        if any(len(groups) > 1 for groups in subjects.values()):
            found = self._pairs(occupancy).items()  # a pair may be one by several terms
            return {key: self.weight * len(pairs) for key, pairs in found}
        return {
            (key, value): self.weight * count
            for key, groups in subjects.items()
            for number, vms in groups.items()
            for value, count in self._counted(shared[number], vms, occupancy)
        }

    def _counted(
        self, peers: Peers, vms: Sequence[NamespacedName], occupancy: Occupancy
    ) -> Iterator[tuple[str, int]]:
        """The number of `_pairs` by domain, if all of these VMs shun the same peers."""
        column = self.domains.column(peers.topology_key)
        fixed = {column[node] for node in peers.fixed if node in column}
        shunned = _by_value(peers.vms, column, occupancy)
        for value, there in _by_value(vms, column, occupancy).items():
            both = sum(1 for vm in there if vm in peers.vms)
            others = len(shunned.get(value, ())) - both
            alone = len(there) - both
            pairs = both * (both - 1) // 2 + both * others + alone * (both + others)
            pairs += len(there) if value in fixed else 0
            if pairs:
                yield value, pairs

    def _pairs(
        self, occupancy: Occupancy
    ) -> Mapping[tuple[str, str], set[tuple[NamespacedName, ...]]]:
        """By key and value of a domain: pairs that share it, and VMs beside a fixed pod."""
        pairs: dict[tuple[str, str], set[tuple[NamespacedName, ...]]] = {}
        known: dict[int, tuple[Mapping[str, list[NamespacedName]], set[str]]] = {}
        for vm in self.terms.keys() & occupancy.keys():
            for peers in self.terms[vm]:
                column = self.domains.column(peers.topology_key)
                if id(peers) not in known:  # many subjects share them
                    fixed = {column[node] for node in peers.fixed if node in column}
                    known[id(peers)] = _by_value(peers.vms, column, occupancy), fixed
                there, fixed = known[id(peers)]
                for value in {column[node] for node in occupancy[vm] if node in column}:
                    found = {_pair(vm, other) for other in there.get(value, ()) if other != vm}
                    if value in fixed:
                        found.add((vm,))
                    if found:
                        pairs.setdefault((peers.topology_key, value), set()).update(found)
        return pairs

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        places = {**occupancy, vm: frozenset({node})}
        for subject in sorted(self.terms):
            if subject == vm or subject in places:
                for peers in self.terms[subject]:
                    if found := self._clash(subject, peers, vm, node, places):
                        return found
        return ""

    def _clash(
        self, subject: NamespacedName, peers: Peers, vm: NamespacedName, node: str, at: Occupancy
    ) -> str:
        """What a VM on a node does to a subject, which may be the VM, by one of its terms."""
        column = self.domains.column(peers.topology_key)
        value = column.get(node)
        if value is None:
            return ""
        where = domain_words(peers.topology_key, value)
        others = [subject] if vm in peers.vms else []
        if subject == vm:
            others = sorted(peers.vms - {vm})
        for other in others:
            if any(column.get(place) == value for place in at.get(other, ())):
                return f"{where} already holds {people([other], at)}"
        if subject == vm and any(column.get(place) == value for place in peers.fixed):
            return f"{where} already holds a pod that it must shun"
        return ""


def _by_value(
    vms: Iterable[NamespacedName], column: Mapping[str, str], occupancy: Occupancy
) -> Mapping[str, list[NamespacedName]]:
    found: dict[str, list[NamespacedName]] = {}
    for vm in vms:
        for value in {column.get(node) for node in occupancy.get(vm, ())}:
            if value is not None:
                found.setdefault(value, []).append(vm)
    return found


def _pair(one: NamespacedName, other: NamespacedName) -> tuple[NamespacedName, ...]:
    return (one, other) if one < other else (other, one)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPart:
    """The counted VMs differ by at most maxSkew between domains; as topologySpreadConstraints.

    Domains are those of `nodes`, empty ones included. The amount is the skew above the maximum.
    """

    name: str
    domains: Domains
    constraint: SpreadConstraint
    counted: frozenset[NamespacedName]
    nodes: frozenset[str]
    fixed: tuple[str, ...] = ()
    among: str = ""  # the labels by which `matchLabelKeys` tell these VMs from others
    monotone: ClassVar[bool] = False  # freeing a place lowers the minimum

    @property
    def members(self) -> frozenset[NamespacedName]:
        return self.counted

    def signature(self, node: str) -> object:
        return self.domains.column(self.constraint.topology_key).get(node), node in self.nodes

    def misses(self, occupancy: Occupancy) -> Iterator[PartBreach]:
        key = self.constraint.topology_key
        counts = self._counts(occupancy)
        skew = self._skew(counts)
        excess = skew - self.constraint.max_skew
        if excess > 0:
            listed = ", ".join(f"{value}: {count}" for value, count in sorted(counts.items()))
            words = f"skew {skew}" + (f" of VMs with {self.among}" if self.among else "")
            yield PartBreach(
                key=self.name,
                amount=excess,
                message=f"{words} over {key} is above {self.constraint.max_skew} ({listed})",
                vms=tuple(sorted(self.counted & occupancy.keys())),
            )

    def kind(self, vm: NamespacedName) -> object:
        return vm in self.counted

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        excess = self._skew(self._counts(occupancy)) - self.constraint.max_skew
        return {self.name: excess} if excess > 0 else {}

    def _skew(self, counts: Mapping[str, int]) -> int:
        least = 0 if len(counts) < self.constraint.min_domains else min(counts.values(), default=0)
        return max(counts.values(), default=0) - least

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        key = self.constraint.topology_key
        if vm not in self.counted:
            return ""
        value = self.domains.column(key).get(node)
        if value is None:
            return f"{node} has no label {key}, which the spread of {vm.name} needs"
        counts = self._counts({other: held for other, held in occupancy.items() if other != vm})
        least = 0 if len(counts) < self.constraint.min_domains else min(counts.values(), default=0)
        skew = counts.get(value, 0) + 1 - least
        if skew <= self.constraint.max_skew:
            return ""
        where = domain_words(key, value)
        there, limit = counts.get(value, 0), self.constraint.max_skew
        return f"{where} holds {there} already: skew {skew} > {limit}"

    def _counts(self, occupancy: Occupancy) -> dict[str, int]:
        column = self.domains.column(self.constraint.topology_key)
        values = self.domains.values(self.constraint.topology_key, self.nodes)
        counts = dict.fromkeys(values, 0)
        for vm in self.counted & occupancy.keys():
            for value in {column[node] for node in occupancy[vm] & self.nodes if node in column}:
                counts[value] = counts.get(value, 0) + 1
        for node in self.fixed:
            if node in column:
                counts[column[node]] = counts.get(column[node], 0) + 1
        return counts
