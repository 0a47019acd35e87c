"""Snapshot files: our versioned ClusterSnapshot, and plain Kubernetes objects, by content."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import InvalidInput, SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.model.cluster.cluster import KINDS, ClusterSnapshot
from gitbot.model.text.wording import first_of
from gitbot.snapshot.decode import plain_json
from gitbot.snapshot.from_objects import from_objects, kind_of
from gitbot.snapshot.plain_objects import (
    check_enough,
    check_vms,
    listed_kinds,
    passed_over,
    plain_objects,
    run_strategy_warnings,
    watched,
)
from gitbot.snapshot.resources import LISTED
from gitbot.snapshot.versioned import (
    TAKE_ANEW,
    is_versioned,
    read_versioned,
    read_written,
    unknown_kinds,
)

MAX_BYTES = 2 * 1024**3
"""The largest unpacked file, in bytes."""

_PART = 1024**2
_GZIP_MAGIC = b"\x1f\x8b"
_LOGGED = b"==== START logs"
_LOGS = re.compile(
    rb"(?ms)^==== START logs .*?^==== END logs [^\n]*$|^Cluster info dumped to standard output$"
)
"""What `kubectl cluster-info dump` prints between its lists."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_EXPECTED = "a ClusterSnapshot, or Kubernetes objects such as Node and Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """A snapshot, and the objects that it ignores.

    `passed_over` counts the objects that a snapshot does not keep, by kind in order of name.
    `warnings` are sentences, each with file and, in plain text, line and column.
    """

    snapshot: ClusterSnapshot
    passed_over: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_snapshot(
    texts: Sequence[tuple[str, bytes]], now: int, *, cluster: str = "cluster"
) -> ClusterSnapshot:
    return read_files(texts, now, cluster=cluster).snapshot


def read_files(
    texts: Sequence[tuple[str, bytes]],
    now: int,
    *,
    cluster: str = "cluster",
    bundled: Collection[str] = (),
) -> ReadFiles:
    """A snapshot of files (name, content), each recognised by its content.

    Either one ClusterSnapshot, or any number of files with plain Kubernetes objects (a List or
    several documents, YAML or JSON, gzip or not). In plain objects, the cluster is called
    `cluster`, and the time is `now` in seconds UTC. Namespaced objects without a namespace are in
    `default`, where kubectl would put them. Raises SnapshotError, also for a file without a
    document and for objects with neither Node nor Pod among them.

    Of the `bundled` files, which a tool has gathered, those without Kubernetes objects are
    warnings, those without a kind that a snapshot keeps are left out, and an object that occurs
    twice counts once.
    """
    if not texts:
        raise SnapshotError("no snapshot file given", hint=TAKE_ANEW)
    texts = [(name, data if name in bundled else _unpacked(name, data)) for name, data in texts]
    written = read_written(texts[0][1]) if len(texts) == 1 else None
    if written is not None:
        return ReadFiles(snapshot=written)
    files, unread = _opened(texts, bundled)
    values = [(each.name, value) for each in files for value in each.values]
    ours = [(name, value) for name, value in values if is_versioned(value)]
    if not ours:
        found = _plain(files, now, cluster, bundled)
        return replace(found, warnings=(*unread, *found.warnings))
    if len(values) > 1:
        raise SnapshotError(
            f"{ours[0][0]}: a ClusterSnapshot is whole and stands alone, "
            f"found {len(values)} documents",
            hint="give either one ClusterSnapshot or plain Kubernetes objects",
        )
    name, document = ours[0]
    snapshot = read_versioned(name, document)
    return ReadFiles(snapshot=snapshot, passed_over=unknown_kinds(document))


def _opened(
    texts: Sequence[tuple[str, bytes]], bundled: Collection[str]
) -> tuple[list[_File], list[str]]:
    """The files, and why bundled ones are not read."""
    files, unread = list[_File](), list[str]()
    left = MAX_BYTES
    for name, packed in texts:
        try:
            data = _unpacked(name, packed, left) if name in bundled else packed
            left -= len(data) if data is not packed else 0
            if name not in bundled or _KEPT.search(data):
                file = _file(name, data)
                files.append(replace(file, objects=_objects(file)) if name in bundled else file)
        except SnapshotError as error:
            if name not in bundled:
                raise
            unread.append(f"not read: {error}")
    return files, unread


_KEPT = re.compile(rb"""kind["']?\s*:\s*["']?(%s)(List)?\b""" % "|".join(("List", *KINDS)).encode())


def _objects(each: _File) -> list[KubernetesObject]:
    return [obj for value in each.values for obj in plain_objects(each.name, value)]


_Key = tuple[str, NamespacedName]
_ONE_CLUSTER = ("KubeVirt", "Namespace", "Node")


def _once(
    each: _File, bundled: Collection[str], seen: dict[_Key, tuple[str, str]]
) -> list[KubernetesObject]:
    """The objects of a file; of a bundled one those that were not seen before."""
    if each.name not in bundled:
        return _objects(each)
    named = [(obj, (kind_of(obj), name_of(obj))) for obj in each.objects]
    kept = {key: obj for obj, key in reversed(named) if key[0] and key not in seen}
    for obj, key in named:
        uid = at(obj, "metadata", "uid", default="")
        other, known = seen.setdefault(key, (each.name, uid))
        if key[0] in _ONE_CLUSTER and uid and known and known != uid:
            raise SnapshotError(
                f"{each.name}: found {key[0]} {key[1].name} of another cluster than in {other} "
                "(another uid)",
                hint="give the files of one cluster, gathered at one time",
            )
    return [*kept.values()]


def _plain(
    files: Sequence[_File], now: int, cluster: str, bundled: Collection[str] = ()
) -> ReadFiles:
    seen: dict[_Key, tuple[str, str]] = {}
    found = [(each, _once(each, bundled, seen)) for each in files]
    objects = [obj for _, held in found for obj in held]
    names = [each.name for each in files if each.name not in bundled]
    names = names or [first_of(sorted(bundled), 1)]
    check_enough(names, objects)
    if not bundled:
        check_vms(names, objects)
    given = set(map(kind_of, objects))
    given |= {kind for each in files for value in each.values for kind in listed_kinds(value)}
    missing = [each.kind for each in LISTED if each.kind not in given]
    try:
        snapshot = from_objects(cluster, objects, now, missing_kinds=missing, checked=True)
    except SnapshotError as error:
        raise SnapshotError(f"{first_of(names, 4)}: {error}") from error
    return ReadFiles(
        snapshot=snapshot,
        passed_over=passed_over(objects),
        warnings=tuple(
            warning
            for each, held in found
            for warning in run_strategy_warnings(each.name, each.text, held)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    name: str
    text: bytes
    values: tuple[Any, ...]
    objects: Sequence[KubernetesObject] = ()  # of a bundled file


def _file(file: str, data: bytes) -> _File:
    """A file with at least one document. Raises SnapshotError if it has none, or is not text."""
    text = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    found: Sequence[Any] = ()
    if text.startswith((b"{", b"[")):
        found = _json_documents(_LOGS.sub(b"", text) if _LOGGED in text else text)
    if not found:
        try:
            found = _unpacked_lists(read_kubernetes_yaml(data, file))
        except InvalidInput as error:
            raise SnapshotError(_no_text(file, data) or error.message) from error
    if not found:
        what = "no document" if data else "an empty file"
        raise SnapshotError(f"{file}: found {what}, expected {_EXPECTED}")
    return _File(name=file, text=data, values=tuple(watched(file, found)))


def _no_text(file: str, data: bytes) -> str:
    """Why bytes are not text; "" if they are."""
    if data.startswith(_UTF_16):
        return ""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        named = " (only its name says gzip)" if file.endswith(".gz") else ""
        return (
            f"{file}: found bytes that are not text, the first at byte {error.start + 1}{named}, "
            f"expected {_EXPECTED}, as gzip or UTF-8"
        )
    return ""


def _json_documents(text: bytes) -> list[Any]:
    """The JSON documents in a sequence, with arrays of them unpacked; [] for YAML."""
    try:
        found = [plain_json(text)]
    except SnapshotError:
        found = _one_after_the_other(text)
    return _unpacked_lists(found)


def _unpacked_lists(values: Iterable[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


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


def _unpacked(file: str, data: bytes, most: int = MAX_BYTES) -> bytes:
    """The text of a file. Gzip of several members is one text, as in gunzip."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    text = bytearray()
    try:
        with gzip.open(io.BytesIO(data)) as unpacked:
            while len(text) <= most and (part := unpacked.read(_PART)):
                text += part
    except EOFError as error:
        raise SnapshotError(f"{file}: damaged gzip: it ends early", hint=TAKE_ANEW) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        reason = str(error).rpartition(": ")[2]
        raise SnapshotError(f"{file}: damaged gzip: {reason}", hint=TAKE_ANEW) from error
    if len(text) > most:
        raise SnapshotError(f"{file}: unpacks to more than {most} bytes")
    return bytes(text)
