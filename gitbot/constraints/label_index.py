"""What selectors match, found by label: a selector is checked only where one of its labels is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from gitbot.kubernetes.selectors import LabelMatcher, Requirement

T = TypeVar("T")
_Label = tuple[str, str]
_Shelf = dict[str, list[tuple[Mapping[str, str], T]]]  # by namespace


class LabelIndex(Generic[T]):
    """Things with labels, each in a namespace ("" if things have none)."""

    __slots__ = ("_all", "_by_label", "_counts")

    def __init__(self, things: Iterable[tuple[str, Mapping[str, str], T]]) -> None:
        self._all: _Shelf[T] = {}
        self._by_label: dict[_Label, _Shelf[T]] = {}
        self._counts: Counter[_Label] = Counter()
        for space, labels, thing in things:
            entry = (labels, thing)
            self._all.setdefault(space, []).append(entry)
            for label in labels.items():
                self._by_label.setdefault(label, {}).setdefault(space, []).append(entry)
                self._counts[label] += 1

    @property
    def spaces(self) -> Collection[str]:
        """The namespaces in which something is."""
        return self._all.keys()

    def matching(self, wanted: LabelMatcher, spaces: Collection[str] | None = None) -> Iterator[T]:
        """The things in these namespaces whose labels match; None stands for all namespaces."""
        if wanted.nothing:
            return
        for shelf in self._shelves(wanted.requirements):
            for space in _in_both(shelf, spaces):
                for labels, thing in shelf[space]:
                    if wanted.matches(labels):
                        yield thing

    def _shelves(self, requirements: Iterable[Requirement]) -> list[_Shelf[T]]:
        """As few shelves as possible that together hold all possible matches, each thing once."""
        labels = [
            [(item.key, value) for value in item.values]
            for item in requirements
            if item.operator == "In"
        ]
        if not labels:
            return [self._all]
        fewest = min(labels, key=lambda each: sum(self._counts[label] for label in each))
        return [self._by_label[label] for label in fewest if label in self._by_label]


def _in_both(shelf: Mapping[str, object], spaces: Collection[str] | None) -> Iterator[str]:
    if spaces is None:
        yield from shelf
        return
    few, many = (spaces, shelf) if len(spaces) < len(shelf) else (shelf, spaces)
    yield from (space for space in few if space in many)
