"""Our own snapshot file: kind ClusterSnapshot, whole, with a digest. Same value, same bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from gitbot.errors import SnapshotError
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.instants import format_instant, parse_instant
from gitbot.model.objects import KubernetesObject
from gitbot.snapshot.decode import sorted_json
from gitbot.snapshot.plain_objects import word_of
from gitbot.snapshot.resources import RESOURCES
from gitbot.snapshot.value import digest_of, from_objects

API_VERSION = "placement.gitbot.dev/v1alpha1"
KIND = "ClusterSnapshot"
TAKE_ANEW = "take a new one with `gitbot snapshot -o FILE`"


def write_snapshot(snapshot: ClusterSnapshot) -> bytes:
    """The versioned file: gzip without a time, of JSON with sorted keys. Same value, same bytes."""
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": snapshot.cluster},
        "takenAt": format_instant(snapshot.taken_at),
        "digest": snapshot.digest,
        "kubernetesVersion": snapshot.kubernetes_version,
        "resourceVersion": snapshot.resource_version,
        "absentKinds": list(snapshot.absent_kinds),
        "objects": {kind: tuple(items) for kind, items in snapshot.objects.items()},
    }
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    data = packer.compress(sorted_json(document)) + packer.flush()
    # byte 9 of a gzip header names the operating system that packed it: always "unknown"
    return data[:9] + b"\xff" + data[10:]


def is_versioned(value: Any) -> bool:
    """Whether a document is of our own kind."""
    return isinstance(value, Mapping) and value.get("kind") == KIND


def read_versioned(file: str, value: Mapping[str, Any]) -> ClusterSnapshot:
    """The snapshot of a document of our kind. SnapshotError where it is torn or was changed."""
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
        absent_kinds=[
            _text(file, f"absentKinds[{number}]", kind)
            for number, kind in enumerate(_list(file, "absentKinds", value.get("absentKinds")))
        ],
        checked=not declared,  # one without a digest was written by hand
    )
    if declared and declared not in (snapshot.digest, digest_of(cluster, grouped)):
        raise SnapshotError(
            f"{file}: digest: found {declared}, the content has {snapshot.digest}",
            hint="the file was changed after it was written; " + TAKE_ANEW,
        )
    return snapshot


def unknown_kinds(value: Mapping[str, Any]) -> Mapping[str, int]:
    """How many objects of kinds that no snapshot holds, by kind in order of name."""
    objects: Mapping[str, Any] = value["objects"]
    return {kind: len(objects[kind]) for kind in sorted(objects) if kind not in RESOURCES}


def _typed(grouped: Mapping[str, tuple[KubernetesObject, ...]]) -> Iterator[KubernetesObject]:
    """The objects with apiVersion and kind, which a file may leave out."""
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


def _optional(file: str, value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return _text(file, key, found) if found else ""


def _text(file: str, path: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _torn(file, path, word_of(value), "a text")
    return value


def _torn(file: str, path: str, found: str, expected: str) -> SnapshotError:
    message = f"{file}: torn ClusterSnapshot: {path}: found {found}, expected {expected}"
    return SnapshotError(message, hint=TAKE_ANEW)
