"""gitbot's snapshot file: kind ClusterSnapshot, complete, with a digest. Same value, same bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gitbot.errors import Bug, SnapshotError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.text.instants import parse_instant
from gitbot.model.text.names import API_VERSION
from gitbot.published import snapshot_file, sorted_bytes
from gitbot.snapshot.decode import EqualParts, prune_all
from gitbot.snapshot.from_objects import digest_of, from_objects, from_sorted, in_order
from gitbot.snapshot.load_file import load_of
from gitbot.snapshot.plain_objects import word_of
from gitbot.snapshot.resources import RESOURCES

KIND = "ClusterSnapshot"
TAKE_ANEW = "take a new one with `gitbot snapshot -o FILE`"


def write_snapshot(snapshot: ClusterSnapshot) -> bytes:
    """The versioned file: gzip without a time, of JSON with sorted keys."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    data = packer.compress(sorted_bytes(snapshot_file(snapshot))) + packer.flush()
    # Byte 9 of a gzip header is the operating system: "unknown" on every machine.
    return data[:9] + b"\xff" + data[10:]


class _Written(msgspec.Struct, rename="camel"):
    """A file as `write_snapshot` writes it, its objects still text."""

    api_version: str
    kind: str
    metadata: dict[str, str]
    taken_at: str
    digest: str
    objects: dict[str, msgspec.Raw]
    kubernetes_version: str = ""
    resource_version: str = ""
    absent_kinds: list[str] = []
    denied_kinds: list[str] = []
    missing_kinds: list[str] = []
    load: dict[str, Any] | None = None


_written = msgspec.json.Decoder(_Written)


def read_written(text: bytes) -> ClusterSnapshot | None:
    """The snapshot in a file that gitbot wrote: `read_versioned`, but faster and with less memory.

    None for any other text, and if the digest differs.
    """
    try:
        found = _written.decode(text)
        if (found.kind, found.api_version) != (KIND, API_VERSION) or not found.digest:
            return None
        equal = EqualParts()
        objects = {
            kind: in_order(kind, prune_all(kind, memoryview(found.objects[kind]), equal))
            for kind in sorted(found.objects)
        }
        snapshot = from_sorted(
            found.metadata["name"],
            objects,
            parse_instant(found.taken_at),
            kubernetes_version=found.kubernetes_version,
            resource_version=found.resource_version,
            absent_kinds=found.absent_kinds,
            denied_kinds=found.denied_kinds,
            missing_kinds=found.missing_kinds,
        )
        if found.load is not None:
            snapshot = snapshot.with_load(load_of("load", found.load))
    except (msgspec.MsgspecError, SnapshotError, ValueError, KeyError, RecursionError, Bug):
        return None
    return snapshot if snapshot.cluster and snapshot.digest == found.digest else None


def is_versioned(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == KIND


def read_versioned(file: str, value: Mapping[str, Any]) -> ClusterSnapshot:
    """The snapshot in a document of our kind. Raises SnapshotError if it is damaged."""
    if value.get("apiVersion") != API_VERSION:
        raise SnapshotError(
            f"{file}: apiVersion: found {value.get('apiVersion')!r}, expected {API_VERSION!r}",
            hint="this gitbot reads no other version; " + TAKE_ANEW,
        )
    cluster = _text(file, "metadata.name", _mapping(file, value, "metadata").get("name"))
    declared = _optional(file, value, "digest")
    held = _mapping(file, value, "objects")
    grouped = {kind: _items(file, f"objects.{kind}", items) for kind, items in held.items()}
    snapshot = from_objects(
        cluster,
        _typed(grouped),
        _taken_at(file, value.get("takenAt")),
        kubernetes_version=_optional(file, value, "kubernetesVersion"),
        resource_version=_optional(file, value, "resourceVersion"),
        absent_kinds=_kinds(file, value, "absentKinds"),
        denied_kinds=_kinds(file, value, "deniedKinds"),
        missing_kinds=_kinds(file, value, "missingKinds"),
        checked=not declared,  # a person wrote a file without a digest by hand
    )
    if declared and declared not in (snapshot.digest, digest_of(cluster, grouped)):
        raise SnapshotError(
            f"{file}: digest: found {declared}, the content has {snapshot.digest}",
            hint="the file was changed after it was written; " + TAKE_ANEW,
        )
    if value.get("load") is not None:
        return snapshot.with_load(load_of(f"{file}: load", value["load"]))
    return snapshot


def unknown_kinds(value: Mapping[str, Any]) -> Mapping[str, int]:
    objects: Mapping[str, Any] = value["objects"]
    return {kind: len(objects[kind]) for kind in sorted(objects) if kind not in RESOURCES}


def _typed(grouped: Mapping[str, tuple[KubernetesObject, ...]]) -> Iterator[KubernetesObject]:
    """The objects with apiVersion and kind, which a file may omit."""
    for kind, objects in grouped.items():
        version = RESOURCES[kind].api_version if kind in RESOURCES else ""
        for obj in objects:
            yield {"apiVersion": version, **obj, "kind": kind}


def _taken_at(file: str, value: Any) -> int:
    text = _text(file, "takenAt", value)
    try:
        return parse_instant(text)
    except ValueError as error:
        expected = "a time such as 2026-12-06T21:00:00Z"
        raise _torn(file, "takenAt", repr(text), expected) from error


def _items(file: str, path: str, value: Any) -> tuple[KubernetesObject, ...]:
    found = _list(file, path, value)
    for number, item in enumerate(found):
        if not isinstance(item, Mapping):
            raise _torn(file, f"{path}[{number}]", word_of(item), "an object")
    return tuple(found)


def _mapping(file: str, value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, Mapping):
        raise _torn(file, key, word_of(found), "a mapping")
    return found


def _list(file: str, path: str, value: Any) -> list[Any]:
    if not isinstance(value, list | None):
        raise _torn(file, path, word_of(value), "a list")
    return value or []


def _kinds(file: str, value: Mapping[str, Any], key: str) -> list[str]:
    listed = enumerate(_list(file, key, value.get(key)))
    return [_text(file, f"{key}[{number}]", kind) for number, kind in listed]


def _optional(file: str, value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return _text(file, key, found) if found else ""


def _text(file: str, path: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _torn(file, path, word_of(value), "a text")
    return value


def _torn(file: str, path: str, found: str, expected: str) -> SnapshotError:
    message = f"{file}: damaged ClusterSnapshot: {path}: found {found}, expected {expected}"
    return SnapshotError(message, hint=TAKE_ANEW)
