"""Subjects that are equal for an expression, because all values that it reads are equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import repeat
from typing import Any

from gitbot.policy.batch.read_set import Reads, leaves, project
from gitbot.policy.policy import PolicySubject

SHARED = frozenset({"plan", "cluster", "now"})  # the same for all subjects
_Place = tuple[str, ...]  # a variable and the keys in it


class Classes:
    """Keys of subjects; equal for subjects that an expression cannot distinguish. Computed once."""

    def __init__(self, subjects: Sequence[PolicySubject]) -> None:
        self._subjects = subjects
        self._held: dict[str, tuple[Sequence[Any], Sequence[int]]] = {}
        self._columns: dict[_Place, tuple[Sequence[int], int]] = {}
        self._keys: dict[tuple[_Place, ...], Sequence[Hashable]] = {}

    def at_least(self, reads: Reads) -> int:
        """Lower bound of the number of classes: the distinct values at one path that it reads."""
        return max((self._column(place)[1] for place in _places(reads)), default=1)

    def keys(self, reads: Reads) -> Sequence[Hashable]:
        """The key of each subject, by what an expression reads."""
        places = _places(reads)
        if places not in self._keys:
            columns = [self._column(place)[0] for place in places]
            alone = columns[0] if len(columns) == 1 else tuple(zip(*columns, strict=True))
            self._keys[places] = alone or tuple(repeat(0, len(self._subjects)))
        return self._keys[places]

    def _column(self, place: _Place) -> tuple[Sequence[int], int]:
        """Each subject's value at this path as a number, and how many numbers there are."""
        if place not in self._columns:
            values, places = self._distinct(place[0])
            numbers: dict[Hashable, int] = {}
            found = [numbers.setdefault(_text(value, place), len(numbers)) for value in values]
            if len(found) != len(places):
                found = [found[number] for number in places]
            self._columns[place] = found, len(numbers)
        return self._columns[place]

    def _distinct(self, name: str) -> tuple[Sequence[Any], Sequence[int]]:
        """Distinct values (subjects share a node or an intent), and each subject's index."""
        if name not in self._held:
            values = [subject.data[name] for subject in self._subjects]
            known: dict[int, int] = {}
            places = [known.setdefault(id(value), len(known)) for value in values]
            firsts = dict(zip(reversed(places), reversed(values), strict=True))
            self._held[name] = [firsts[place] for place in range(len(known))], places
        return self._held[name]


def _places(reads: Reads) -> tuple[_Place, ...]:
    own = ((name, tree) for name, tree in reads.items() if name not in SHARED)
    return tuple(sorted((name, *keys) for name, tree in own for keys in leaves(tree)))


def _text(value: Any, place: _Place) -> Hashable:
    """The value at a path as text; if the path ends early, its depth, and the value there."""
    for depth, key in enumerate(place[1:]):
        if type(value) is not dict and not isinstance(value, Mapping):
            return depth, repr(value)
        if key not in value:
            return depth
        value = value[key]
    return repr(project(value, None))  # repr distinguishes 1, 1.0, true and "1", as CEL does
