"""The part of Kubernetes' protobuf that kubectl sends: create configmap or namespace, evict.

The envelope is k8s.io/apimachinery runtime.Unknown after four magic bytes; field numbers are those
of k8s.io/api generated.proto. Answers may stay JSON, which every client accepts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.simulation.status_errors import ApiError, bad_request

MAGIC = b"k8s\x00"
_TEXT, _BOOL, _INT, _BYTES, _TEXTS, _MAP = "text", "bool", "int", "bytes", "texts", "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message's fields: number to JSON name and type (a word above, or another message)."""

    fields: Mapping[int, tuple[str, str | Message]]


_OBJECT_META = Message(
    fields={
        1: ("name", _TEXT),
        2: ("generateName", _TEXT),
        3: ("namespace", _TEXT),
        5: ("uid", _TEXT),
        6: ("resourceVersion", _TEXT),
        11: ("labels", _MAP),
        12: ("annotations", _MAP),
        14: ("finalizers", _TEXTS),
    }
)
_PRECONDITIONS = Message(fields={1: ("uid", _TEXT), 2: ("resourceVersion", _TEXT)})
_DELETE_OPTIONS = Message(
    fields={
        1: ("gracePeriodSeconds", _INT),
        2: ("preconditions", _PRECONDITIONS),
        4: ("propagationPolicy", _TEXT),
        5: ("dryRun", _TEXTS),
    }
)
KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "ConfigMap"): Message(
        fields={1: ("metadata", _OBJECT_META), 2: ("data", _MAP), 4: ("immutable", _BOOL)}
    ),
    ("v1", "Namespace"): Message(fields={1: ("metadata", _OBJECT_META)}),
    ("v1", "ServiceAccount"): Message(fields={1: ("metadata", _OBJECT_META)}),
    ("v1", "DeleteOptions"): _DELETE_OPTIONS,
    ("policy/v1", "Eviction"): Message(
        fields={1: ("metadata", _OBJECT_META), 2: ("deleteOptions", _DELETE_OPTIONS)}
    ),
}
_TYPE_META = Message(fields={1: ("apiVersion", _TEXT), 2: ("kind", _TEXT)})
_UNKNOWN = Message(fields={1: ("typeMeta", _TYPE_META), 2: ("raw", _BYTES)})


def decode(data: bytes) -> dict[str, Any]:
    """The object as plain data. Raises 400 if it is malformed, 415 for an unknown kind."""
    if not data.startswith(MAGIC):
        raise bad_request("a protobuf body must start with the bytes k8s\\0")
    try:
        envelope = _read(data[len(MAGIC) :], _UNKNOWN)
        meta = envelope.get("typeMeta", {})
        kind = (meta.get("apiVersion", ""), meta.get("kind", ""))
        if kind not in KINDS:
            raise ApiError(
                f"the simulated server reads {kind[1] or 'objects'} of {kind[0] or 'no version'} "
                "as JSON only",
                code=415,
                reason="UnsupportedMediaType",
            )
        return {**meta, **_read(envelope.get("raw", b""), KINDS[kind])}
    except (IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"the protobuf body is damaged: {error}") from error


def _read(data: bytes, message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _wire(data):
        if number not in message.fields:
            continue
        name, kind = message.fields[number]
        if isinstance(kind, Message):
            found[name] = _read(_as_bytes(value), kind)
        elif kind == _TEXTS:
            found.setdefault(name, []).append(_as_bytes(value).decode())
        elif kind == _MAP:
            entry = dict(_wire(_as_bytes(value)))
            key, item = entry.get(1, b""), entry.get(2, b"")
            found.setdefault(name, {})[_as_bytes(key).decode()] = _as_bytes(item).decode()
        else:
            found[name] = _scalar(value, kind)
    return {name: value for name, value in found.items() if value != ""}


def _scalar(value: int | bytes, kind: str) -> Any:
    if kind == _TEXT:
        return _as_bytes(value).decode()
    if kind == _BYTES:
        return _as_bytes(value)
    return bool(value) if kind == _BOOL else value


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise bad_request("the protobuf body has a number where text is expected")
    return value


def _wire(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values: numbers of varints, bytes of length-delimited fields."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
                yield tag >> 3, value
            case 2:
                length, position = _varint(data, position)
                if position + length > len(data):
                    raise IndexError("a field is longer than its message")
                yield tag >> 3, data[position : position + length]
                position += length
            case wire_type:
                raise bad_request(f"the protobuf body has wire type {wire_type}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
