"""Objects of one kind as compact rows: pruned and packed, made plain when first looked at.

A pod takes about 1.5 kB this way, as plain data four times as much. What many objects have in
common (tolerations, requests, images) is kept once, in a table of parts that the rows refer to;
labels are kept as the JSON text that the server sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import msgspec

from gitbot.model.objects import KubernetesObject
from gitbot.snapshot.decode import plain_json

_unpack = msgspec.msgpack.Decoder().decode

Path = tuple[str, ...]
"""Field names from the object down to a part; "*" stands for each item of a list."""


class Parts:
    """What rows refer to by number; each made plain once, and shared by all that refer to it."""

    __slots__ = ("_plain", "_texts")

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._plain: list[Any] = []

    def number(self, text: bytes) -> int:
        """The number of one more part, given as pruned JSON."""
        self._texts.append(text)
        self._plain.append(None)
        return len(self._texts) - 1

    def __getitem__(self, number: int) -> Any:
        found = self._plain[number]
        if found is None:
            found = self._plain[number] = plain_json(self._texts[number])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What all rows of a kind have in common: what they are, and where they refer to parts."""

    api_version: str
    kind: str
    parts: Parts
    paths: tuple[Path, ...]

    def plain(self, row: bytes) -> KubernetesObject:
        """The object that a row stands for."""
        obj: dict[str, Any] = {"apiVersion": self.api_version, "kind": self.kind}
        obj.update(_unpack(row))
        labels = obj["metadata"].get("labels")
        if labels is not None:
            obj["metadata"]["labels"] = plain_json(labels)
        for path in self.paths:
            _resolve(obj, path, self.parts)
        return obj


class Rows(Sequence[KubernetesObject]):
    """The objects of one kind, in order; an object is the same one each time it is asked for.

    `text` holds the rows one after the other; row n is `text[n][begins[n]:ends[n]]`, a page's rows
    share one text.
    """

    __slots__ = ("_begins", "_ends", "_form", "_made", "_texts")

    def __init__(
        self, form: Form, texts: Sequence[bytes], begins: Sequence[int], ends: Sequence[int]
    ) -> None:
        self._form = form
        self._texts = texts
        self._begins = begins
        self._ends = ends
        self._made: dict[int, KubernetesObject] = {}

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
        """Every object in order, without keeping those that nobody has looked at."""
        made = self._made
        return (made.get(number) or self._plain(number) for number in range(len(self)))

    def _plain(self, number: int) -> KubernetesObject:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._form.plain(self._texts[number][self._begins[number] : self._ends[number]])


def _resolve(holder: Any, path: Path, parts: Parts) -> None:
    """Put the part that a path's number stands for in the number's place."""
    step, *rest = path
    if not rest:
        if step in holder:
            holder[step] = parts[holder[step]]
        return
    inner = holder.get(step)
    if not inner:
        return
    if rest[0] == "*":
        for item in inner:
            _resolve(item, tuple(rest[1:]), parts)
    else:
        _resolve(inner, tuple(rest), parts)
