"""Raw JSON to pruned Kubernetes objects. Fields outside the field tree are never decoded."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Mapping
from itertools import compress, repeat
from typing import Any

import msgspec

from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.names import HEARTBEAT, SCHEDULABLE
from gitbot.snapshot.field_tree import ANNOTATION_PREFIXES, ANNOTATIONS, HOOK_SIDECARS
from gitbot.snapshot.structs import (
    API_VERSIONS,
    DecodePurpose,
    SharedPart,
    annotated_paths,
    decoder_of,
    file_list_decoder,
    holders,
    shared_parts,
)

_NAMES = {"str": "a text", "object": "a mapping", "array": "a list", "bool": "true or false"}
_NAMES |= {"int": "a number", "float": "a number", "null": "nothing"}
_KIND = f"`({'|'.join(_NAMES)})(?: \\| null)?`"
_MISMATCH = re.compile(rf"Expected {_KIND}, got {_KIND} - at `\$\.(.*)`")


def decode_object(kind: str, data: bytes) -> KubernetesObject:
    """One object of a kind, pruned. Raises SnapshotError if it is malformed."""
    try:
        return _pruned(kind, data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"a {kind} cannot be read: {error}") from error


def prune(kind: str, obj: KubernetesObject, *, checked: bool = False) -> KubernetesObject:
    """The allowed fields of one object given as plain data; null counts as absent.

    `checked` checks the types of fields that rules read, too, for an object that no API server may
    have stored. The result shares nothing with the argument. Raises SnapshotError with kind, object
    and path if a field has another shape.
    """
    try:
        data = msgspec.json.encode(obj, enc_hook=_plain_mapping)
        if checked:
            decoder_of(kind, DecodePurpose.CHECKED).decode(data)
        return _pruned(kind, data)
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        message = f"found half of a surrogate pair ({half}), expected characters"
        raise SnapshotError(f"{_words(kind, obj)}: {message}") from error
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise SnapshotError(f"{_words(kind, obj)}: {_shape(error)}") from error


class EqualParts:
    """Parts that many objects of a file share, by their JSON: each is decoded and stored once.

    Parts that are kept whole are the same value in all kinds, as a VMI's affinity in its pod.
    """

    def __init__(self) -> None:
        self._known: dict[int, dict[bytes, int]] = {}
        self._values: list[Any] = []

    def number(self, part: SharedPart, items: list[Any]) -> None:
        """Replace the JSON of a part by a number, in each of the structs."""
        held = holders(items, part.path[:-1])
        texts = list(map(part.read, held))
        there = [text is not None for text in texts]
        if not any(there):
            return
        known = self._known.setdefault(id(part.decoder), {})
        texts = list(map(bytes, compress(texts, there)))
        for text in set(texts).difference(known):
            known[text] = len(self._values)
            decode = (part.decoder or _PLAIN).decode
            self._values.append(msgspec.to_builtins(decode(text)))
        numbers = map(known.__getitem__, texts)
        deque(map(setattr, compress(held, there), repeat(part.path[-1]), numbers), maxlen=0)

    def resolve(self, part: SharedPart, objects: list[Any]) -> None:
        """Replace the numbers of a part by values, in the same objects as plain data."""
        for step in part.path[:-1]:
            if step == "*":
                objects = [item for inner in objects for item in inner]
            else:
                objects = [inner for obj in objects if (inner := obj.get(step)) is not None]
        field, values = part.path[-1], self._values
        for obj in objects:
            if field in obj:
                if (value := values[obj[field]]) is None:
                    del obj[field]
                else:
                    obj[field] = value


def prune_all(kind: str, data: bytes | memoryview, equal: EqualParts) -> list[KubernetesObject]:
    """Like `prune` for the JSON list of a kind, many times faster. Raises msgspec.MsgspecError."""
    structs = file_list_decoder(kind).decode(data)
    filter_annotations(kind, structs)
    parts = shared_parts(kind, DecodePurpose.FILE)
    for part in parts:
        equal.number(part, structs)
    objects = msgspec.to_builtins(structs)
    del structs
    for part in parts:
        equal.resolve(part, objects)
    api_version = API_VERSIONS[kind]
    return [{"apiVersion": api_version, "kind": kind, **obj} for obj in objects]


def _pruned(kind: str, data: bytes) -> KubernetesObject:
    struct = decoder_of(kind, DecodePurpose.PRUNED).decode(data)
    filter_annotations(kind, [struct])
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, **msgspec.to_builtins(struct)}


def _words(kind: str, obj: KubernetesObject) -> str:
    metadata = obj.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return f"{kind} {name or 'without a name'}"


def _shape(error: Exception) -> str:
    """`metadata.labels: found a list, expected a mapping`, from an error of msgspec."""
    found = _MISMATCH.fullmatch(str(error))
    if found is None:
        return str(error)
    return f"{found[3]}: found {_NAMES[found[2]]}, expected {_NAMES[found[1]]}"


def filter_annotations(kind: str, items: list[Any]) -> None:
    """Keep only the annotations of a snapshot in decoded objects and their templates."""
    for path in annotated_paths(kind):
        for metadata in holders(items, path[:-1]):
            if metadata.annotations is not None:
                found = _kept_annotations(metadata.annotations)
                if HEARTBEAT in found and not _is_closed(metadata.labels):
                    del found[HEARTBEAT]  # else each node would change every minute
                metadata.annotations = found or None


def _is_closed(labels: Any) -> bool:
    """Whether KubeVirt runs no new VM on a node with these labels; pages have them undecoded."""
    known = msgspec.json.decode(labels) if isinstance(labels, msgspec.Raw) else labels
    return isinstance(known, dict) and known.get(SCHEDULABLE) == "false"


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
    """JSON bytes with sorted keys and no spaces: the input of digests."""
    return msgspec.json.encode(value, order="sorted")


def indented_json(value: Any) -> str:
    """The same text as json.dumps(indent=2), many times faster."""
    data = msgspec.json.encode(value, enc_hook=_plain_mapping)
    return msgspec.json.format(data, indent=2).decode()


def _plain_mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
