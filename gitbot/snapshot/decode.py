"""Raw JSON to pruned Kubernetes objects: only the fields of the masks are ever built.

The only door to msgspec. A mask becomes a struct type once, so that the decoder skips everything
else in C: 50,000 pods in about a second (tests/bench).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any

import msgspec

from gitbot.errors import Bug, SnapshotError
from gitbot.model.objects import KubernetesObject
from gitbot.snapshot.masks import (
    ANNOTATION_PREFIXES,
    ANNOTATIONS,
    EVENT,
    HOOK_SIDECARS,
    MASKS,
    METADATA,
    Mask,
)
from gitbot.snapshot.resources import EVENTS, RESOURCES
from gitbot.snapshot.shapes import METADATA as SHAPE_OF_METADATA
from gitbot.snapshot.shapes import SHAPES


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list. `token` is "" on the last page, `resource_version` the list's own."""

    objects: tuple[KubernetesObject, ...]
    token: str
    resource_version: str


def decode_page(kind: str, data: bytes) -> Page:
    """One page of a list answer. Raises SnapshotError where it is torn or of another shape."""
    try:
        page = _page_decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"a list of {kind} cannot be read: {error}") from error
    if page.items is None:
        found = page.kind or "no kind"
        raise SnapshotError(f"a list of {kind} cannot be read: found {found}, expected items")
    metadata = page.metadata
    return Page(
        objects=tuple(_plain(kind, item) for item in page.items),
        token=(metadata and metadata.continue_) or "",
        resource_version=(metadata and metadata.resourceVersion) or "",
    )


def decode_object(kind: str, data: bytes) -> KubernetesObject:
    """One object of a kind, pruned. Raises SnapshotError where it is torn."""
    try:
        return _plain(kind, _object_decoder(kind).decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"a {kind} cannot be read: {error}") from error


def kept_annotations(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Of an object's annotations those that a snapshot keeps; empty where it keeps none."""
    kept = {key: annotations[key] for key in _kept_keys(tuple(annotations))}
    if HOOK_SIDECARS in kept:
        kept[HOOK_SIDECARS] = _images_alone(kept[HOOK_SIDECARS])
    return kept


@functools.lru_cache(maxsize=1024)
def _kept_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in keys if key in ANNOTATIONS or key.startswith(ANNOTATION_PREFIXES))


def decode_events(data: bytes) -> tuple[KubernetesObject, ...]:
    """The Events of one page of a list answer. Raises SnapshotError where it is torn."""
    return decode_page("Event", data).objects


def prune(kind: str, obj: KubernetesObject, *, checked: bool = False) -> KubernetesObject:
    """The allowed fields of one object given as plain data; null counts as absent.

    `checked` holds the fields that rules read to their types, for an object that may never have
    been in an API server. The result shares nothing with the argument. Raises SnapshotError that
    names kind, object and path where a field has another shape.
    """
    try:
        data = msgspec.json.encode(obj, enc_hook=_plain_mapping)
        if checked:
            _shape_decoder(kind).decode(data)
        return _plain(kind, _object_decoder(kind).decode(data))
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        message = f"found half of a surrogate pair ({half}), expected characters"
        raise SnapshotError(f"{_words(kind, obj)}: {message}") from error
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise SnapshotError(f"{_words(kind, obj)}: {error}") from error


def _words(kind: str, obj: KubernetesObject) -> str:
    metadata = obj.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return f"{kind} {name or 'without a name'}"


def plain_json(data: bytes) -> Any:
    """JSON bytes to plain data; numbers with a fraction stay text, as quantities are.

    Raises SnapshotError.
    """
    try:
        return _PLAIN.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"no JSON: {error}") from error


def sorted_json(value: Any) -> bytes:
    """JSON bytes with sorted keys and no spaces: the form that digests are taken of."""
    return msgspec.json.encode(value, order="sorted")


def indented_json(value: Any) -> str:
    """JSON with two spaces a level, as json.dumps(indent=2) writes it, many times faster."""
    data = msgspec.json.encode(value, enc_hook=_plain_mapping)
    return msgspec.json.format(data, indent=2).decode()


_PLAIN = msgspec.json.Decoder(float_hook=str)


def mask_of(kind: str) -> Mapping[str, Mask]:
    """The mask of a whole object of a kind."""
    masks = {**MASKS, "Event": EVENT}
    if kind not in masks:
        raise Bug(f"BUG: no mask for kind {kind}")
    return {"metadata": METADATA, **masks[kind]}


def api_version_of(kind: str) -> str:
    """The apiVersion that objects of a kind have in a snapshot."""
    return _API_VERSIONS[kind]


@functools.cache
def _struct_of(kind: str) -> type[msgspec.Struct]:
    struct: type[msgspec.Struct] = type_of(kind, mask_of(kind))
    return struct


@functools.cache
def _object_decoder(kind: str) -> Any:
    return msgspec.json.Decoder(_struct_of(kind), float_hook=str)


@functools.cache
def _shape_decoder(kind: str) -> Any:
    shape = {"metadata": SHAPE_OF_METADATA, **SHAPES.get(kind, {})}
    return msgspec.json.Decoder(type_of(f"{kind}Shape", shape), float_hook=str)


def _plain_mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


@functools.cache
def _page_decoder(kind: str) -> Any:
    return msgspec.json.Decoder(list_type_of(kind, _struct_of(kind)), float_hook=str)


def list_type_of(kind: str, item: Any) -> Any:
    """The type of a list answer with items of a type: kind, items, metadata; each may be None."""
    metadata = msgspec.defstruct(
        "ListMeta",
        [("continue_", str | None, None), ("resourceVersion", str | None, None)],
        rename={"continue_": "continue"},
    )
    return msgspec.defstruct(
        f"{kind}List",
        [
            ("kind", str | None, None),
            ("items", list[item] | None, None),
            ("metadata", metadata | None, None),
        ],
    )


_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def type_of(name: str, mask: Mask) -> Any:
    """The type that decodes just what a mask keeps; a type in a mask's place stands for itself."""
    match mask:
        case None:
            return Any
        case type() | GenericAlias():
            return _INT64 if mask is int else mask
        case [item]:
            return list[type_of(name, item)]  # type: ignore[misc]
        case Mapping():
            return msgspec.defstruct(
                name.replace(".", "_"),
                [(key, _optional(f"{name}.{key}", inner), None) for key, inner in mask.items()],
                omit_defaults=True,
                gc=False,
            )
        case _:
            raise Bug(f"BUG: mask of {name} is {mask!r}")


def _optional(name: str, mask: Mask) -> Any:
    inner = type_of(name, mask)
    return inner if inner in (Any, msgspec.Raw) else inner | None


def _plain(kind: str, struct: msgspec.Struct) -> KubernetesObject:
    obj: dict[str, Any] = {"apiVersion": _API_VERSIONS[kind], "kind": kind}
    obj.update(msgspec.to_builtins(struct))
    _filter_annotations(obj)
    if kind in _WITH_TEMPLATE:
        _filter_templates(obj)
    return obj


_API_VERSIONS = {each.kind: each.api_version for each in (*RESOURCES.values(), EVENTS)}
_WITH_TEMPLATE = frozenset(kind for kind in MASKS if kind.startswith("VirtualMachine"))


def _filter_annotations(holder: dict[str, Any]) -> None:
    metadata = holder.get("metadata")
    if not metadata or "annotations" not in metadata:
        return
    kept = kept_annotations(metadata["annotations"])
    if kept:
        metadata["annotations"] = kept
    else:
        del metadata["annotations"]


def _images_alone(text: Any) -> str:
    """Of a hookSidecars annotation one entry with an image for each sidecar."""
    try:
        sidecars = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (msgspec.MsgspecError, TypeError, RecursionError):
        return "[]"
    images = [{"image": str(sidecar.get("image", ""))} for sidecar in sidecars]
    return sorted_json(images).decode()


def _filter_templates(obj: dict[str, Any]) -> None:
    spec = obj.get("spec") or {}
    for key in ("template", "virtualMachineTemplate"):
        template = spec.get(key)
        if template:
            _filter_annotations(template)
            _filter_templates(template)
