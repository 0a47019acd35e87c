"""Affinity terms of placed pods, grouped by equal term, found by the labels of a new pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitbot.constraints.scheduler.counting_multimap import Buckets
from gitbot.model.caches import IdentityCache
from gitbot.model.cluster.scheduling import AffinityTerm

_Label = tuple[str, str]
_ANY: _Label = ("", "")  # terms without a demanded label value


@dataclass(frozen=True, slots=True)
class CountedTerm:
    """A term with the weight that each of its pods gives it (0 for required terms).

    The hash is cached: terms are deep, and every judged pod looks entries up.
    """

    term: AffinityTerm
    weight: int
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.term, self.weight)))

    def __hash__(self) -> int:
        return self._hash


_MOST_TERMS = 200_000
_required: IdentityCache[CountedTerm] = IdentityCache(
    lambda term: CountedTerm(term, 0), most=_MOST_TERMS
)


class TermIndex:
    """The distinct terms by node, with counts.

    A term is indexed under one label value that its selector demands, so a new pod is checked only
    against terms with one of its labels. Terms that demand no value are checked for every pod.
    """

    __slots__ = ("_by_label", "_nodes")

    def __init__(self) -> None:
        self._by_label: Buckets[_Label, CountedTerm] = Buckets()
        self._nodes: Buckets[CountedTerm, int] = Buckets()

    def fork(self) -> TermIndex:
        copy = TermIndex()
        copy._by_label = self._by_label.fork()
        copy._nodes = self._nodes.fork()
        return copy

    def add(self, term: AffinityTerm, node: int, weight: int = 0) -> None:
        entry = CountedTerm(term, weight) if weight else _required(term)
        if entry not in self._nodes:
            for label in _labels(term):
                self._by_label.add(label, entry)
        self._nodes.add(entry, node)

    def remove(self, term: AffinityTerm, node: int, weight: int = 0) -> None:
        entry = CountedTerm(term, weight) if weight else _required(term)
        self._nodes.remove(entry, node)
        if entry not in self._nodes:
            for label in _labels(term):
                self._by_label.remove(label, entry)

    def matching(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> Iterator[tuple[CountedTerm, Mapping[int, int]]]:
        """The entries whose term matches such a pod, each with counts by node number."""
        for label in (*labels.items(), _ANY):
            for entry in self._by_label.get(label):
                term = entry.term
                if term.reaches(namespace, namespace_labels) and term.selector.matches(labels):
                    yield entry, self._nodes.get(entry)

    def about(self, labels: Mapping[str, str]) -> Iterator[AffinityTerm]:
        """The terms that match such a pod if they reach its namespace."""
        for label in (*labels.items(), _ANY):
            for entry in self._by_label.get(label):
                if entry.term.selector.matches(labels):
                    yield entry.term


def _labels_of(term: AffinityTerm) -> tuple[_Label, ...]:
    """The label values under which a term is indexed: those of its narrowest In requirement."""
    if term.selector.nothing:
        return ()
    demands = [item for item in term.selector.requirements if item.operator == "In"]
    if not demands:
        return (_ANY,)
    narrowest = min(demands, key=lambda item: (len(item.values), _breadth(item.key), item.key))
    return tuple((narrowest.key, value) for value in narrowest.values)


def _breadth(key: str) -> int:
    """0 for keys that name one VM, 2 for the key of every launcher pod. A hint for speed."""
    return {"kubevirt.io/created-by": 0, "vm.kubevirt.io/name": 0, "kubevirt.io": 2}.get(key, 1)


_labels = IdentityCache(_labels_of, most=_MOST_TERMS)
