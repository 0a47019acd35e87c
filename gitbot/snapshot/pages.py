"""Pages of a list answer to rows: decoded one page at a time, nothing of a page is kept whole.

Each page is decoded by the masks in C. Parts that most objects of a kind have in common are left
as raw JSON, looked up by their bytes, and pruned only where those bytes are new: of 50,000 pods
with the same tolerations, one is ever decoded.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any

import msgspec

from gitbot.errors import SnapshotError
from gitbot.snapshot.decode import (
    api_version_of,
    kept_annotations,
    list_type_of,
    mask_of,
    type_of,
)
from gitbot.snapshot.mask import Mask
from gitbot.snapshot.rows import Form, Parts, Path, Rows

FINISHED = frozenset({"Succeeded", "Failed"})
_MOST_KNOWN = 20_000
"""Raw parts remembered while a kind is read, so that a kind without repeats stays small."""

_SHARED: Mapping[str, Mapping[Path, tuple[str, ...]]] = {
    "Node": {("spec",): ("taints",), ("status",): ("allocatable", "capacity", "images")},
    "Pod": {
        ("spec",): (
            "affinity",
            "nodeSelector",
            "overhead",
            "tolerations",
            "topologySpreadConstraints",
            "initContainers",
        ),
        ("spec", "containers", "*"): ("resources",),
        ("status", "containerStatuses", "*"): ("allocatedResources", "resources"),
        ("status", "initContainerStatuses", "*"): ("allocatedResources", "resources"),
    },
}
"""By kind: where the holders of common parts are, and the fields of theirs that are common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEnd:
    """What a page says beside its objects: `token` is "" on the last one."""

    token: str
    resource_version: str


class KindReader:
    """Reads the pages of one kind, in the server's order, into rows."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._shape = _shape(kind)
        self._parts = Parts()
        self._known: dict[Path, dict[bytes, int | None]] = {p: {} for p in self._shape.paths}
        self._names: list[str] = []  # namespace, NUL, name: sorts as the pair does
        self._texts: list[bytes] = []
        self._begins, self._ends = array("L"), array("L")

    def add(self, data: bytes) -> PageEnd:
        """Read one page. Raises SnapshotError where it is torn or of another shape."""
        try:
            page = self._shape.decoder.decode(data)
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
        """All objects, sorted by (namespace, name). Raises SnapshotError for a name given twice."""
        names = self._names
        order = sorted(range(len(names)), key=names.__getitem__)
        for before, after in pairwise(order):
            if names[before] == names[after]:
                shown = "/".join(filter(None, names[after].split("\0")))
                raise SnapshotError(
                    f"{self._kind} {shown} occurs twice", hint="keep one of the two objects"
                )
        form = Form(
            api_version=api_version_of(self._kind),
            kind=self._kind,
            parts=self._parts,
            paths=self._shape.paths,
        )
        return Rows(
            form,
            [self._texts[number] for number in order],
            array("L", (self._begins[number] for number in order)),
            array("L", (self._ends[number] for number in order)),
        )

    def _cannot(self, reason: str) -> str:
        return f"a list of {self._kind} cannot be read: {reason}"

    def _take(self, items: list[Any]) -> None:
        if self._kind == "Pod":  # as kube-scheduler leaves them out (1.36, newPodInformer)
            items = [item for item in items if not _finished(item)]
        for path, parts in self._shape.shared:
            holders = _holders(items, path)
            for part in parts:
                self._share(part, holders)
        for item in items:
            metadata = item.metadata
            name = metadata.name if metadata is not None else None
            if not name:
                raise SnapshotError(
                    f"{self._kind} without metadata.name: a snapshot holds objects as a cluster "
                    "stores them",
                    hint="give it a name",
                )
            if metadata.annotations is not None:
                metadata.annotations = kept_annotations(metadata.annotations) or None
            if metadata.labels is not None:
                text = bytes(metadata.labels)
                metadata.labels = None if text == b"null" else text
            self._names.append(f"{metadata.namespace or ''}\0{name}")
        if self._shape.templates:
            for item in items:
                _strip_templates(item)
        rows = [_encode(item) for item in items]
        ends = list(accumulate(map(len, rows)))
        self._texts.extend([b"".join(rows)] * len(rows))  # one piece of memory a page
        self._begins.extend([0, *ends[:-1]] if ends else [])
        self._ends.extend(ends)

    def _share(self, part: _Part, holders: list[Any]) -> None:
        """Put the numbers of parts in the place of their raw JSON."""
        field, known = part.path[-1], self._known[part.path]
        find = known.get
        for holder, raw in zip(holders, map(part.read, holders), strict=True):
            if raw is None:
                continue
            number = find(text := bytes(raw), _NEW)
            if number == _NEW:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                number = known[text] = self._number(part, text)
            setattr(holder, field, number)

    def _number(self, part: _Part, text: bytes) -> int | None:
        """The number of a part that was not met before; None for null, which counts as absent."""
        pruned = text if part.decoder is None else _json(part.decoder.decode(text))
        return None if pruned == b"null" else self._parts.number(pruned)


_NEW = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part that many objects share: where it is, what reads it, what decodes and prunes it.

    No decoder where the mask keeps all of it.
    """

    path: Path
    read: Callable[[Any], Any]
    decoder: Any


def _holders(items: list[Any], path: Path) -> list[Any]:
    """The structs at a path of each item."""
    found = items
    for step in path:
        if step == "*":
            found = [item for inner in found for item in inner]
        else:
            read = attrgetter(step)
            found = [inner for inner in map(read, found) if inner is not None]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """How the pages of one kind are decoded."""

    decoder: Any
    shared: tuple[tuple[Path, tuple[_Part, ...]], ...]
    templates: bool

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(part.path for _, parts in self.shared for part in parts)


@functools.cache
def _shape(kind: str) -> _Shape:
    mask = mask_of(kind)
    shared = tuple(
        (holder, tuple(_part(mask, (*holder, field)) for field in fields))
        for holder, fields in _SHARED.get(kind, {}).items()
    )
    for _, parts in shared:
        for part in parts:
            mask = _with(mask, part.path, msgspec.Raw)
    decoded = (("name", str), ("namespace", str), ("annotations", dict), ("labels", msgspec.Raw))
    for field, kept in decoded:
        mask = _with(mask, ("metadata", field), kept)
    return _Shape(
        decoder=_decoder(list_type_of(kind, type_of(kind, mask))),
        shared=shared,
        templates=kind.startswith("VirtualMachine"),
    )


def _part(mask: Mask, path: Path) -> _Part:
    kept = _at(mask, path)
    decoder = None if kept is None else _decoder(type_of(".".join(path), kept))
    return _Part(path=path, read=attrgetter(path[-1]), decoder=decoder)


def _decoder(decoded: Any) -> Any:
    return msgspec.json.Decoder(decoded, float_hook=str)


def _at(mask: Mask, path: Path) -> Mask:
    for step in path:
        mask = mask[0] if step == "*" else mask[step]
    return mask


def _with(mask: Mask, path: Path, new: Mask) -> Any:
    """A mask with another one in the place of a path."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if step == "*":
        return [_with(mask[0], rest, new)]
    return {**mask, step: _with(mask[step], rest, new)}


_json = msgspec.json.Encoder().encode
_encode = msgspec.msgpack.Encoder().encode


def _finished(item: Any) -> bool:
    return item.status is not None and item.status.phase in FINISHED


def _strip_templates(holder: Any) -> None:
    """Leave the kept annotations alone in the templates of a struct."""
    spec = getattr(holder, "spec", None)
    for field in ("template", "virtualMachineTemplate"):
        template = getattr(spec, field, None)
        if template is None:
            continue
        metadata = getattr(template, "metadata", None)
        if metadata is not None and metadata.annotations is not None:
            metadata.annotations = kept_annotations(metadata.annotations) or None
        _strip_templates(template)
