"""Pages of a list response to rows, one page at a time. No page is kept as a whole.

Each page is decoded in C by the field tree. Parts that most objects of a kind share stay raw JSON,
are looked up by their bytes, and are pruned only if those bytes are new: of 50,000 pods with the
same tolerations, only one's are ever decoded.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import msgspec

from gitbot.errors import SnapshotError
from gitbot.kubernetes.phases import FINAL_PHASES
from gitbot.snapshot.decode import filter_annotations
from gitbot.snapshot.packed_rows import Form, Parts, Rows, steps_of
from gitbot.snapshot.structs import (
    API_VERSIONS,
    Path,
    SharedPart,
    holders,
    list_decoder_of,
    shared_parts,
)

Cell = tuple[bytes, int, int]
"""A row: the text that it is part of, and where in it the row begins and ends."""

_MOST_KNOWN = 20_000
"""Raw parts remembered while a kind is read. It bounds the memory for a kind without repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEnd:
    """The rest of a page besides its objects: `token` is "" on the last page."""

    token: str
    resource_version: str


class KindReader:
    """Reads the pages of one kind into rows, in the server's order."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._decoder = list_decoder_of(kind)
        self._shared = shared_parts(kind)
        self._parts = Parts()
        self._known: dict[Path, dict[bytes, int | None]] = {p.path: {} for p in self._shared}
        self._names: list[str] = []  # namespace, NUL, name: sorts as the pair does
        self._texts: list[bytes] = []
        self._begins, self._ends = array("L"), array("L")

    def add(self, data: bytes) -> PageEnd:
        """Read one page. Raises SnapshotError if it is damaged or has another shape."""
        try:
            page = self._decoder.decode(data)
            if page.items is None:
                found = page.kind or "no kind"
                raise SnapshotError(self._cannot(f"found {found}, expected items"))
            self._take(page.items)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SnapshotError(self._cannot(str(error))) from error
        metadata = page.metadata
        return PageEnd(
            token=(metadata and metadata.continue_) or "",
            resource_version=(metadata and metadata.resourceVersion) or "",
        )

    def rows(self) -> Rows:
        """All objects, sorted by (namespace, name). Raises SnapshotError for a duplicate name."""
        names = self._names
        order = sorted(range(len(names)), key=names.__getitem__)
        for before, after in pairwise(order):
            if names[before] == names[after]:
                shown = "/".join(filter(None, names[after].split("\0")))
                raise SnapshotError(
                    f"{self._kind} {shown} occurs twice", hint="keep one of the two objects"
                )
        return Rows(
            self.form,
            [self._texts[number] for number in order],
            array("L", (self._begins[number] for number in order)),
            array("L", (self._ends[number] for number in order)),
        )

    def taken(self) -> Iterator[tuple[str, Cell]]:
        """The rows read so far by name, in the order in which they came; they are given up."""
        found = zip(
            self._names, zip(self._texts, self._begins, self._ends, strict=True), strict=True
        )
        self._names, self._texts = [], []
        self._begins, self._ends = array("L"), array("L")
        return found

    @property
    def form(self) -> Form:
        """The layout of its rows, with the parts that they share."""
        return Form(
            api_version=API_VERSIONS[self._kind],
            kind=self._kind,
            parts=self._parts,
            steps=steps_of(part.path for part in self._shared),
        )

    def _cannot(self, reason: str) -> str:
        return f"a list of {self._kind} cannot be read: {reason}"

    def _take(self, items: list[Any]) -> None:
        if self._kind == "Pod":  # as kube-scheduler leaves them out (newPodInformer)
            items = [it for it in items if not it.status or it.status.phase not in FINAL_PHASES]
        for path, parts in groupby(self._shared, key=lambda part: part.path[:-1]):
            found = holders(items, path)
            for part in parts:
                self._share(part, found)
        filter_annotations(self._kind, items)
        for item in items:
            metadata = item.metadata
            name = metadata.name if metadata is not None else None
            if not name:
                raise SnapshotError(
                    f"{self._kind} without metadata.name: a snapshot holds objects as a cluster "
                    "stores them",
                    hint="give it a name",
                )
            if metadata.labels is not None:
                text = bytes(metadata.labels)
                metadata.labels = None if text == b"null" else text
            self._names.append(f"{metadata.namespace or ''}\0{name}")
        rows = [_encode(item) for item in items]
        ends = list(accumulate(map(len, rows)))
        self._texts.extend([b"".join(rows)] * len(rows))  # one piece of memory for each page
        self._begins.extend([0, *ends[:-1]] if ends else [])
        self._ends.extend(ends)

    def _share(self, part: SharedPart, found: list[Any]) -> None:
        field, known = part.path[-1], self._known[part.path]
        find = known.get
        for holder, raw in zip(found, map(part.read, found), strict=True):
            if raw is None:
                continue
            number = find(text := bytes(raw), _NEW)
            if number == _NEW:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                number = known[text] = self._number(part, text)
            setattr(holder, field, number)

    def _number(self, part: SharedPart, text: bytes) -> int | None:
        """The number of a new part; None for null, which counts as absent."""
        pruned = text if part.decoder is None else _json(part.decoder.decode(text))
        return None if pruned == b"null" else self._parts.number(pruned)


_NEW = -1


_json = msgspec.json.Encoder().encode
_encode = msgspec.msgpack.Encoder().encode
