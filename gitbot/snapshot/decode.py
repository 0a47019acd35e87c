"""Raw JSON to pruned Kubernetes objects. Only fields of the field tree are ever built."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.snapshot.field_tree import ANNOTATION_PREFIXES, ANNOTATIONS, HOOK_SIDECARS
from gitbot.snapshot.structs import (
    API_VERSIONS,
    Use,
    annotated_paths,
    decoder_of,
    holders,
    pruned_list_decoder,
)


def decode_object(kind: str, data: bytes) -> KubernetesObject:
    """One object of a kind, pruned. Raises SnapshotError if it is malformed."""
    try:
        return _pruned(kind, data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"a {kind} cannot be read: {error}") from error


def prune(kind: str, obj: KubernetesObject, *, checked: bool = False) -> KubernetesObject:
    """The allowed fields of one object given as plain data; null counts as absent.

    `checked` also checks the types of fields that rules read, for an object that may never have
    been in an API server. The result shares nothing with the argument. Raises SnapshotError with
    kind, object and path if a field has another shape.
    """
    try:
        data = msgspec.json.encode(obj, enc_hook=_plain_mapping)
        if checked:
            decoder_of(kind, Use.CHECKED).decode(data)
        return _pruned(kind, data)
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        message = f"found half of a surrogate pair ({half}), expected characters"
        raise SnapshotError(f"{_words(kind, obj)}: {message}") from error
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise SnapshotError(f"{_words(kind, obj)}: {error}") from error


def prune_all(kind: str, data: bytes) -> list[KubernetesObject]:
    """The same for the JSON list of a kind, many times faster. Raises msgspec.MsgspecError."""
    structs = pruned_list_decoder(kind).decode(data)
    filter_annotations(kind, structs)
    api_version = API_VERSIONS[kind]
    return [
        {"apiVersion": api_version, "kind": kind, **obj} for obj in msgspec.to_builtins(structs)
    ]


def _pruned(kind: str, data: bytes) -> KubernetesObject:
    struct = decoder_of(kind, Use.PRUNED).decode(data)
    filter_annotations(kind, [struct])
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, **msgspec.to_builtins(struct)}


def _words(kind: str, obj: KubernetesObject) -> str:
    metadata = obj.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return f"{kind} {name or 'without a name'}"


def filter_annotations(kind: str, items: list[Any]) -> None:
    """Keep only a snapshot's annotations in decoded objects and their templates."""
    for path in annotated_paths(kind):
        for metadata in holders(items, path[:-1]):
            if metadata.annotations is not None:
                metadata.annotations = _kept_annotations(metadata.annotations) or None


def _kept_annotations(annotations: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: annotations[key] for key in _kept_keys(tuple(annotations))}
    if HOOK_SIDECARS in kept:
        kept[HOOK_SIDECARS] = _images_alone(kept[HOOK_SIDECARS])
    return kept


@functools.lru_cache(maxsize=1024)
def _kept_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in keys if key in ANNOTATIONS or key.startswith(ANNOTATION_PREFIXES))


def _images_alone(text: Any) -> str:
    """Reduce a hookSidecars annotation to one entry with an image for each sidecar."""
    try:
        sidecars = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (msgspec.MsgspecError, TypeError, RecursionError):
        return "[]"
    images = [{"image": str(sidecar.get("image", ""))} for sidecar in sidecars]
    return sorted_json(images).decode()


_PLAIN = msgspec.json.Decoder(float_hook=str)


def plain_json(data: bytes) -> Any:
    """JSON bytes to plain data; numbers with a fraction stay text, like quantities.

    Raises SnapshotError.
    """
    try:
        return _PLAIN.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"not JSON: {error}") from error


def sorted_json(value: Any) -> bytes:
    """JSON bytes with sorted keys and no spaces: the form that digests cover."""
    return msgspec.json.encode(value, order="sorted")


def indented_json(value: Any) -> str:
    """The same text as json.dumps(indent=2), many times faster."""
    data = msgspec.json.encode(value, enc_hook=_plain_mapping)
    return msgspec.json.format(data, indent=2).decode()


def _plain_mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
