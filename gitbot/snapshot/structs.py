"""A field tree as msgspec types that decode JSON; the decoder skips all other fields in C.

Types are made once. They decode 50,000 pods in about a second (tests/bench).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any

import msgspec

from gitbot.errors import Bug
from gitbot.snapshot.field_tree import METADATA, Branch, Fields, FieldTreatment, Tree
from gitbot.snapshot.kept_fields import EVENT, FIELDS
from gitbot.snapshot.resources import EVENTS, RESOURCES

Path = tuple[str, ...]
"""Field names from the object down to a part; "*" stands for each item of a list."""

API_VERSIONS = {each.kind: each.api_version for each in (*RESOURCES.values(), EVENTS)}
"""Kind to the apiVersion of its objects in a snapshot."""


class DecodePurpose(Enum):
    """What a type is for: how much of an object it decodes, and how strictly."""

    CHECKED = auto()  # all fields typed: no API server has checked the object
    PRUNED = auto()  # one object, only its kept fields
    ROW = auto()  # like PRUNED, for lists: parts that most objects share stay undecoded
    FILE = auto()  # like ROW, for snapshot files: parts shared by many stay undecoded


@functools.cache
def decoder_of(kind: str, use: DecodePurpose) -> Any:
    return _decoder(_type_of(kind, _tree_of(kind), use))


@functools.cache
def file_list_decoder(kind: str) -> Any:
    return _decoder(list[_type_of(kind, _tree_of(kind), DecodePurpose.FILE)])  # type: ignore[misc]


@functools.cache
def list_decoder_of(kind: str) -> Any:
    """The decoder of a list response to rows: kind, items, metadata; each may be None."""
    metadata = msgspec.defstruct(
        "ListMeta",
        [("continue_", str | None, None), ("resourceVersion", str | None, None)],
        rename={"continue_": "continue"},
    )
    items = _type_of(kind, [_tree_of(kind)], DecodePurpose.ROW)
    answer = msgspec.defstruct(
        f"{kind}List",
        [
            ("kind", str | None, None),
            ("items", items | None, None),
            ("metadata", metadata | None, None),
        ],
    )
    return _decoder(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPart:
    """A part that many objects share: its path, and how to read, decode and prune it.

    `decoder` is None if the whole part is kept: then it needs no pruning.
    """

    path: Path
    read: Callable[[Any], Any]
    decoder: Any


_ONCE = {
    DecodePurpose.ROW: (FieldTreatment.SHARED,),
    DecodePurpose.FILE: (FieldTreatment.SHARED, FieldTreatment.ALIKE),
}


@functools.cache
def shared_parts(kind: str, use: DecodePurpose = DecodePurpose.ROW) -> tuple[SharedPart, ...]:
    return tuple(_part(path, tree) for path, tree in _branches(_tree_of(kind), *_ONCE[use]))


def _part(path: Path, tree: Tree) -> SharedPart:
    kept = _type_of(".".join(path), tree, DecodePurpose.PRUNED)
    decoder = None if kept is Any else _decoder(kept)
    return SharedPart(path=path, read=attrgetter(path[-1]), decoder=decoder)


@functools.cache
def annotated_paths(kind: str) -> tuple[Path, ...]:
    return tuple(path for path, _ in _branches(_tree_of(kind), FieldTreatment.FILTERED))


def holders(items: list[Any], path: Path) -> list[Any]:
    found = items
    for step in path:
        if step == "*":
            found = [item for inner in found for item in inner]
        else:
            read = attrgetter(step)
            found = [inner for inner in map(read, found) if inner is not None]
    return found


def _tree_of(kind: str) -> Fields:
    fields = EVENT if kind == EVENTS.kind else FIELDS.get(kind)
    if fields is None:
        raise Bug(f"BUG: no fields for kind {kind}")
    return {"metadata": METADATA, **fields}


def _branches(tree: Tree, *hows: FieldTreatment, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """The outermost branches with one of these treatments, in the order of the tree."""
    match tree:
        case Branch() if tree.how in hows:
            yield path, tree.tree
        case Branch(how=FieldTreatment.ALIKE):
            yield from _branches(tree.tree, *hows, path=path)
        case [item]:
            yield from _branches(item, *hows, path=(*path, "*"))
        case Mapping():
            for key, inner in tree.items():
                yield from _branches(inner, *hows, path=(*path, key))


_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def _type_of(name: str, tree: Tree, use: DecodePurpose) -> Any:
    match tree:
        case None:
            return Any
        case type() | GenericAlias():
            checked = _INT64 if tree is int else tree  # an API server accepts no larger integer
            return checked if use is DecodePurpose.CHECKED else Any
        case Branch():
            return _branch_type(name, tree, use)
        case [item]:
            return list[_type_of(name, item, use)]  # type: ignore[misc]
        case Mapping():
            return msgspec.defstruct(
                name.replace(".", "_"),
                [
                    (key, _optional(_type_of(f"{name}.{key}", inner, use)), None)
                    for key, inner in tree.items()
                ],
                omit_defaults=True,
                gc=False,  # they have no cycles, and may be a million
            )
        case _:
            raise Bug(f"BUG: the field tree of {name} is {tree!r}")


def _branch_type(name: str, branch: Branch, use: DecodePurpose) -> Any:
    if use is not DecodePurpose.CHECKED:
        match branch.how:
            case FieldTreatment.WHOLE:
                return Any
            case FieldTreatment.ALWAYS:
                return branch.tree
            case FieldTreatment.FILTERED:
                return dict
            case FieldTreatment.SHARED | FieldTreatment.AS_SENT if use is DecodePurpose.ROW:
                return msgspec.Raw
            case FieldTreatment.SHARED | FieldTreatment.ALIKE if use is DecodePurpose.FILE:
                return msgspec.Raw
    inner = _type_of(name, branch.tree, use)
    return inner | str if branch.how is FieldTreatment.OR_TEXT else inner


def _optional(inner: Any) -> Any:
    return inner if inner in (Any, msgspec.Raw) else inner | None


def _decoder(decoded: Any) -> Any:
    return msgspec.json.Decoder(decoded, float_hook=str)
