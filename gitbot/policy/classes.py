"""Subjects that are alike for an expression: all that it reads of them is equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import repeat
from typing import Any

from gitbot.policy.reads import Reads, Tree, project
from gitbot.policy.value import PolicySubject

SHARED = frozenset({"plan", "cluster", "now"})  # the same for all subjects


class Classes:
    """Keys of subjects, equal for those that are alike. Each part is computed once."""

    def __init__(self, subjects: Sequence[PolicySubject]) -> None:
        self._subjects = subjects
        self._held: dict[str, tuple[Sequence[Any], Sequence[int]]] = {}
        self._columns: dict[str, Sequence[int]] = {}
        self._keys: dict[tuple[str, ...], Sequence[Hashable]] = {}

    def keys(self, reads: Reads) -> Sequence[Hashable]:
        """The key of each subject, by what an expression reads."""
        own = {name: tree for name, tree in reads.items() if name not in SHARED}
        names = tuple(sorted(f"{name} {_text(tree)}" for name, tree in own.items()))
        if names not in self._keys:
            columns = [self._column(name, tree) for name, tree in sorted(own.items())]
            alone = columns[0] if len(columns) == 1 else tuple(zip(*columns, strict=True))
            self._keys[names] = alone or tuple(repeat(0, len(self._subjects)))
        return self._keys[names]

    def _column(self, name: str, tree: Tree | None) -> Sequence[int]:
        place = f"{name} {_text(tree)}"
        if place not in self._columns:
            self._columns[place] = self._numbers(name, tree)
        return self._columns[place]

    def _numbers(self, name: str, tree: Tree | None) -> Sequence[int]:
        values, places = self._distinct(name)
        numbers: dict[str, int] = {}
        # repr tells 1, 1.0, true and "1" apart, as CEL does
        texts = (repr(project(value, tree)) for value in values)
        found = [numbers.setdefault(text, len(numbers)) for text in texts]
        return found if len(found) == len(places) else [found[place] for place in places]

    def _distinct(self, name: str) -> tuple[Sequence[Any], Sequence[int]]:
        """The values, those that subjects share once (a node, an intent), and whose is which."""
        if name not in self._held:
            values = [subject.data[name] for subject in self._subjects]
            known: dict[int, int] = {}
            places = [known.setdefault(id(value), len(known)) for value in values]
            firsts = dict(zip(reversed(places), reversed(values), strict=True))
            self._held[name] = [firsts[place] for place in range(len(known))], places
        return self._held[name]


def _text(tree: Mapping[str, Any] | None) -> str:
    if tree is None:
        return "*"
    return "{" + ",".join(f"{key!r}:{_text(tree[key])}" for key in sorted(tree)) + "}"
