"""Matches of selectors, found by label: a selector is tested only on things with its label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from typing import Generic, TypeVar

from gitbot.kubernetes.selectors import LabelMatcher, Requirement

T = TypeVar("T")
_Shelf = dict[str, list[tuple[Mapping[str, str], T]]]  # by namespace


class LabelIndex(Generic[T]):
    """Things with labels, each in a namespace ("" if things have none)."""

    __slots__ = ("_all", "_by_key")

    def __init__(self, things: Iterable[tuple[str, Mapping[str, str], T]]) -> None:
        self._all: _Shelf[T] = {}
        self._by_key: dict[str, dict[str, _Shelf[T]]] = {}  # of keys that a selector used
        for space, labels, thing in things:
            self._all.setdefault(space, []).append((labels, thing))

    @property
    def spaces(self) -> Collection[str]:
        """The namespaces that contain something."""
        return self._all.keys()

    def matching(self, wanted: LabelMatcher, spaces: Collection[str] | None = None) -> Iterator[T]:
        """The things in these namespaces whose labels match; None means all namespaces."""
        if wanted.nothing:
            return
        for shelf in self._shelves(wanted.requirements):
            for space in _in_both(shelf, spaces):
                for labels, thing in shelf[space]:
                    if wanted.matches(labels):
                        yield thing

    def _shelves(self, requirements: Iterable[Requirement]) -> list[_Shelf[T]]:
        """As few shelves as possible that together have all possible matches, each thing once."""
        found = [
            [shelf for value in item.values if (shelf := self._having(item.key).get(value))]
            for item in requirements
            if item.operator == "In"
        ]
        return min(found, key=_size) if found else [self._all]

    def _having(self, key: str) -> dict[str, _Shelf[T]]:
        """By value of a label. Most labels, such as those with UIDs, no selector ever uses."""
        known = self._by_key.get(key)
        if known is None:
            known = self._by_key[key] = {}
            for space, entries in self._all.items():
                for entry in entries:
                    value = entry[0].get(key)
                    if value is not None:
                        known.setdefault(value, {}).setdefault(space, []).append(entry)
        return known


def _size(shelves: Iterable[Mapping[str, Sized]]) -> int:
    return sum(len(entries) for shelf in shelves for entries in shelf.values())


def _in_both(shelf: Mapping[str, object], spaces: Collection[str] | None) -> Iterator[str]:
    if spaces is None:
        yield from shelf
        return
    few, many = (spaces, shelf) if len(spaces) < len(shelf) else (shelf, spaces)
    yield from (space for space in few if space in many)
