"""The rows of one kind that is listed once and then watched: one changed object at a time.

A changed object passes through the same decoder as the pages of a list, so that its row has the
same bytes; unchanged rows, and the objects made of them, are shared by all snapshots.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, Self

import msgspec

from gitbot.errors import SnapshotError
from gitbot.snapshot.list_pages import Cell, KindReader, PageEnd
from gitbot.snapshot.packed_rows import Rows

_MOST_NEW_PARTS = 20_000
"""Shared parts that changes may add before the kind is to be listed again: none is ever removed."""


class EventType(StrEnum):
    """The types of an event of a watch.

    kubernetes/apimachinery: pkg/watch, EventType
    """

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One line of a watch: `name` is namespace, NUL, name; `code` that of an ERROR's Status."""

    type: EventType
    name: str
    version: str
    code: int
    object: bytes


class _Line(msgspec.Struct):
    type: EventType
    object: msgspec.Raw


class _ObjectMetadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")


class _Object(msgspec.Struct):
    metadata: _ObjectMetadata = msgspec.field(default_factory=_ObjectMetadata)
    code: int = 0


_lines = msgspec.json.Decoder(_Line)
_objects = msgspec.json.Decoder(_Object)


def read_event(line: bytes) -> WatchEvent:
    """Raises SnapshotError for a line that holds none."""
    try:
        read = _lines.decode(line)
        found = _objects.decode(read.object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"an event of a watch cannot be read: {error}") from error
    return WatchEvent(
        type=read.type,
        name=f"{found.metadata.namespace}\0{found.metadata.name}",
        version=found.metadata.version,
        code=found.code,
        object=bytes(read.object),
    )


class FollowedRows:
    """Takes the pages of a list, then `listed`, then changes. One thread at a time may use it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._reader = KindReader(kind)
        self._cells: dict[str, Cell] = {}
        self._order: list[str] = []
        self._rows: Rows | None = None
        self._changed: set[str] = set()
        self._parts = 0

    def add(self, page: bytes) -> PageEnd:
        """Raises SnapshotError if the page is damaged."""
        return self._reader.add(page)

    def listed(self) -> Self:
        """The last page was added. Raises SnapshotError for a duplicate name."""
        self._rows = self._reader.rows()
        self._cells = dict(self._reader.taken())
        self._order = sorted(self._cells)
        self._parts = len(self._reader.form.parts)
        return self

    def change(self, event: WatchEvent) -> None:
        """Take an object that was added, modified or deleted. Raises SnapshotError if damaged."""
        if not event.name.rpartition("\0")[2]:
            _refuse(self.kind)
        kept: dict[str, Cell] = {}
        if event.type is not EventType.DELETED:
            self._reader.add(b'{"items":[%s]}' % event.object)
            kept = dict(self._reader.taken())  # empty for a finished pod
        if kept or event.name in self._cells:
            self._changed.add(event.name)
        self._cells.pop(event.name, None)
        self._cells.update(kept)

    @property
    def is_crowded(self) -> bool:
        """Whether changes added so many shared parts that a new list would save memory."""
        return len(self._reader.form.parts) > 2 * self._parts + _MOST_NEW_PARTS

    def rows(self) -> Rows:
        """All objects as they are now, sorted: the same value until something changes."""
        if self._rows is None or self._changed:
            self._rows = self._arranged(self._rows)
        return self._rows

    def _arranged(self, before: Rows | None) -> Rows:
        cells, changed = self._cells, self._changed
        order = sorted(cells)
        made = {}
        if before is not None:
            known = {
                name: item
                for number, name in enumerate(self._order)
                if (item := before.made(number)) is not None and name not in changed
            }
            made = {number: known[name] for number, name in enumerate(order) if name in known}
        found = [cells[name] for name in order]
        self._order, self._changed = order, set()
        return Rows(
            self._reader.form,
            [text for text, _, _ in found],
            array("L", (begin for _, begin, _ in found)),
            array("L", (end for _, _, end in found)),
            made,
        )


def _refuse(kind: str) -> NoReturn:
    raise SnapshotError(f"a watch of {kind} sent an object without metadata.name")
