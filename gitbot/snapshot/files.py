"""Snapshot files: our versioned ClusterSnapshot, and plain Kubernetes objects, by content."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml
from gitbot.errors import InvalidInput, SnapshotError
from gitbot.model.cluster import KINDS, ClusterSnapshot
from gitbot.model.instants import format_instant, parse_instant
from gitbot.model.objects import KubernetesObject
from gitbot.snapshot.decode import plain_json, sorted_json
from gitbot.snapshot.resources import RESOURCES
from gitbot.snapshot.value import digest_of, from_objects, kind_of

API_VERSION = "placement.gitbot.dev/v1alpha1"
KIND = "ClusterSnapshot"
MAX_BYTES = 2 * 1024**3
"""Budget for one unpacked file, in bytes."""

_GZIP_MAGIC = b"\x1f\x8b"
_LISTS = {f"{kind}List": kind for kind in KINDS}
_WORDS = {str: "a text", list: "a list", type(None): "nothing", bool: "a boolean"}
_HINT = "take a new one with `gitbot snapshot -o FILE`"


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


def read_snapshot(
    texts: Sequence[tuple[str, bytes]], now: int, *, cluster: str = "cluster"
) -> ClusterSnapshot:
    """A snapshot of files (name, content), each recognised by its content.

    Either one ClusterSnapshot, or any number of files with plain Kubernetes objects (a List or
    several documents, YAML or JSON, gzip or not); there an absent kind means "none", the cluster
    is called `cluster`, and the time is `now` in seconds UTC. Namespaced objects without a
    namespace are in `default`, as kubectl would put them. Raises SnapshotError.
    """
    if not texts:
        raise SnapshotError("no snapshot file given", hint=_HINT)
    documents = [(file, value) for file, data in texts for value in _documents(file, data)]
    ours = [(file, value) for file, value in documents if _is_ours(value)]
    if not ours:
        objects = [obj for file, value in documents for obj in _objects(file, value)]
        if not any(kind_of(obj) for obj in objects):
            files = ", ".join(file for file, _ in texts)
            raise SnapshotError(
                f"{files}: found no Kubernetes object that a snapshot holds",
                hint="expected a ClusterSnapshot, or objects such as Node, Pod and "
                "VirtualMachineInstance",
            )
        return from_objects(cluster, objects, now)
    if len(documents) > 1:
        raise SnapshotError(
            f"{ours[0][0]}: a ClusterSnapshot is whole and stands alone, "
            f"found {len(documents)} documents",
            hint="give either one ClusterSnapshot or plain Kubernetes objects",
        )
    return _versioned(*ours[0])


def _documents(file: str, data: bytes) -> Iterator[Any]:
    data = _unpacked(file, data)
    text = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith((b"{", b"[")):
        found = _json_documents(text)
        if found:
            yield from found
            return
    try:
        yield from read_kubernetes_yaml(data, file)
    except InvalidInput as error:
        raise SnapshotError(error.message) from error


def _json_documents(text: bytes) -> list[Any]:
    """The JSON documents that stand one after the other, arrays of them unpacked; [] for YAML."""
    try:
        found = [plain_json(text)]
    except SnapshotError:
        found = _one_after_the_other(text)
    return [item for value in found for item in (value if isinstance(value, list) else [value])]


def _one_after_the_other(text: bytes) -> list[Any]:
    decoder = json.JSONDecoder(parse_float=str)
    found = []
    try:
        letters = text.decode().rstrip()
        place = 0
        while place < len(letters):
            value, place = decoder.raw_decode(letters, place)
            found.append(value)
            while letters[place : place + 1].isspace():
                place += 1
    except (ValueError, RecursionError):
        return []
    return found


def _unpacked(file: str, data: bytes) -> bytes:
    if not data.startswith(_GZIP_MAGIC):
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise SnapshotError(f"{file}: torn gzip: {error}", hint=_HINT) from error
    if unpacker.unconsumed_tail:
        raise SnapshotError(f"{file}: unpacks to more than {MAX_BYTES} bytes")
    if not unpacker.eof:
        raise SnapshotError(f"{file}: torn gzip: it ends early", hint=_HINT)
    return plain


def _is_ours(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == KIND


def _objects(file: str, value: Any) -> Iterator[KubernetesObject]:
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        found = "no kind" if isinstance(value, Mapping) else _WORDS.get(type(value), "a number")
        raise SnapshotError(
            f"{file}: no Kubernetes object: found {found}, expected apiVersion, kind and metadata"
        )
    kind = value["kind"]
    if kind != "List" and kind not in _LISTS:
        yield _placed(value)
        return
    items = value.get("items") or []
    if not isinstance(items, list):
        raise SnapshotError(f"{file}: {kind}.items: expected a list")
    for item in items:
        typed = (
            {"apiVersion": value.get("apiVersion"), "kind": _LISTS[kind]} if kind != "List" else {}
        )
        yield from _objects(file, {**typed, **item} if isinstance(item, Mapping) else item)


def _placed(obj: KubernetesObject) -> KubernetesObject:
    kind = kind_of(obj)
    metadata = obj.get("metadata")
    if not kind or not RESOURCES[kind].namespaced or not isinstance(metadata, Mapping):
        return obj
    if metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": "default"}}


def _versioned(file: str, value: Mapping[str, Any]) -> ClusterSnapshot:
    if value.get("apiVersion") != API_VERSION:
        raise SnapshotError(
            f"{file}: apiVersion: found {value.get('apiVersion')!r}, expected {API_VERSION!r}",
            hint="this gitbot reads no other version; " + _HINT,
        )
    try:
        cluster = str(value["metadata"]["name"])
        taken_at = parse_instant(value["takenAt"])
        grouped = {str(kind): tuple(items) for kind, items in value["objects"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(f"{file}: torn ClusterSnapshot: {error!r}", hint=_HINT) from error
    snapshot = from_objects(
        cluster,
        (
            {"apiVersion": _api_version(kind), **obj, "kind": kind}
            if isinstance(obj, Mapping)
            else {}
            for kind, objects in grouped.items()
            for obj in objects
        ),
        taken_at,
        kubernetes_version=str(value.get("kubernetesVersion") or ""),
        resource_version=str(value.get("resourceVersion") or ""),
        absent_kinds=tuple(value.get("absentKinds") or ()),
    )
    declared = value.get("digest")
    if declared and declared not in (snapshot.digest, digest_of(cluster, grouped)):
        raise SnapshotError(
            f"{file}: digest: found {declared}, the content has {snapshot.digest}",
            hint="the file was changed after it was written; " + _HINT,
        )
    return snapshot


def _api_version(kind: str) -> str:
    return RESOURCES[kind].api_version if kind in RESOURCES else ""
