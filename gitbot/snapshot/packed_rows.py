"""Objects of one kind as compact rows: pruned and packed, expanded on first access.

A pod takes about 1.5 kB this way, a quarter of plain data. Values that many objects share
(tolerations, requests, images) are stored once, in a table of parts that the rows refer to; labels
stay the JSON text that the server sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import msgspec

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.snapshot.decode import plain_json
from gitbot.snapshot.structs import Path

Steps = dict[str, Any]
"""Step to the steps below it; None at the end of a path."""

_unpack = msgspec.msgpack.Decoder().decode


class Parts:
    """The parts that rows refer to by number. Each is expanded once and shared."""

    __slots__ = ("_plain", "_texts")

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._plain: list[Any] = []

    def number(self, text: bytes) -> int:
        self._texts.append(text)
        self._plain.append(None)
        return len(self._texts) - 1

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> Any:
        found = self._plain[number]
        if found is None:
            found = self._plain[number] = plain_json(self._texts[number])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The layout that all rows of a kind share: their type, and where they refer to parts."""

    api_version: str
    kind: str
    parts: Parts
    steps: Steps

    def plain(self, row: bytes) -> KubernetesObject:
        obj: dict[str, Any] = {"apiVersion": self.api_version, "kind": self.kind}
        obj.update(_unpack(row))
        labels = obj["metadata"].get("labels")
        if labels is not None:
            obj["metadata"]["labels"] = plain_json(labels)
        _resolve(obj, self.steps, self.parts)
        return obj


class Rows(Sequence[KubernetesObject]):
    """The objects of one kind, in order. Repeated access returns the same object.

    `text` holds the rows one after the other; row n is `text[n][begins[n]:ends[n]]`, and the rows
    of a page share one text.
    """

    __slots__ = ("_begins", "_ends", "_form", "_made", "_texts")

    def __init__(
        self,
        form: Form,
        texts: Sequence[bytes],
        begins: Sequence[int],
        ends: Sequence[int],
        made: Mapping[int, KubernetesObject] | None = None,
    ) -> None:
        self._form = form
        self._texts = texts
        self._begins = begins
        self._ends = ends
        self._made: dict[int, KubernetesObject] = dict(made or {})

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> KubernetesObject: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[KubernetesObject, ...]: ...
    def __getitem__(self, index: int | slice) -> KubernetesObject | tuple[KubernetesObject, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        number = index + len(self) if index < 0 else index
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._plain(number)
        return made

    def __iter__(self) -> Iterator[KubernetesObject]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def passing(self) -> Iterator[KubernetesObject]:
        """Every object in order. Objects that were not accessed before are not kept."""
        made = self._made
        return (made.get(number) or self._plain(number) for number in range(len(self)))

    def made(self, number: int) -> KubernetesObject | None:
        """The object if it was accessed before."""
        return self._made.get(number)

    def _plain(self, number: int) -> KubernetesObject:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._form.plain(self._texts[number][self._begins[number] : self._ends[number]])


def _resolve(holder: Any, steps: Steps, parts: Parts) -> None:
    """Replace the number at each path by its part."""
    for step, below in steps.items():
        inner = holder.get(step)
        if inner is None:
            continue
        if below is None:
            holder[step] = parts[inner]
        elif (each := below.get("*")) is None:
            _resolve(inner, below, parts)
        else:
            for item in inner:
                _resolve(item, each, parts)


def steps_of(paths: Iterable[Path]) -> Steps:
    """Paths as a tree of their steps, so that each object is walked once."""
    made: Steps = {}
    for *inner, last in paths:
        within = made
        for step in inner:
            within = within.setdefault(step, {})
        within[last] = None
    return made
