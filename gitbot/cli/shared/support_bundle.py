"""Folders and archives of Kubernetes objects: must-gather, support bundles, cluster-info dump.

Nothing is written and no link is followed: the names inside an archive are only shown.
"""

from __future__ import annotations

import bz2
import functools
import io
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitbot.errors import SnapshotError

MAX_FILES = 20_000
_UNPACKED = 8  # times the limit of what is read: logs that an archive holds as well
_ENDINGS = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2")
_HINT = "give only the folders with nodes, pods, volumes and KubeVirt's objects"
_TAR = re.compile(rb"(?s).{257}ustar")
_ZIP = b"PK\x03\x04"
_PACKED: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", lambda data: zlib.decompressobj(31).decompress(data, 512)),
    (b"\xfd7zXZ\x00", lambda data: lzma.LZMADecompressor().decompress(data, 512)),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data, 512)),
)
"""How a compressed file begins, and what gives the first bytes of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportBundle:
    """The YAML and JSON files of a folder or archive, by name, and the count of other files."""

    files: tuple[tuple[str, bytes], ...]
    others: int


def read_folder(name: str, most: int) -> SupportBundle:
    """The files below a folder, `most` bytes of them. Raises SnapshotError beyond a limit."""
    try:
        return _read(name, _walked(name), most)
    except OSError as error:
        raise SnapshotError(f"{error.filename}: {error.strerror}") from error


def read_archive(name: str, data: bytes, most: int) -> SupportBundle | None:
    """The files of a zip or tar archive, also compressed; None if it is none.

    Raises SnapshotError.
    """
    try:
        if data.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                return _read(name, _zipped(name, packed), most)
        if not _TAR.match(_begin(data)):
            return None
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            return _read(name, _members(name, archive), most)
    except (*_DAMAGED, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise SnapshotError(f"{name}: damaged archive: {error}") from error


_DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


def _begin(data: bytes) -> bytes:
    for magic, unpack in _PACKED:
        if data.startswith(magic):
            try:
                return unpack(data[: 1024 * 1024])
            except _DAMAGED:
                return b""
    return data[:512]


_Found = tuple[str, int, Callable[[], bytes] | None]
"""Name, size and content of one file; None if it is a link, a device or otherwise not plain."""


def _read(name: str, found: Iterator[_Found], most: int) -> SupportBundle:
    files: list[tuple[str, bytes]] = []
    others = total = passed = 0
    inner = ""
    for shown, size, content in found:
        if content is None:
            others, passed = others + 1, passed + size
            inner = inner or (shown if shown.endswith(_ARCHIVES) else "")
            if passed > _UNPACKED * most:
                raise SnapshotError(f"{name}: unpacks to more than {_UNPACKED * most} bytes")
            continue
        total += size
        if len(files) == MAX_FILES or total > most:
            what = f"{MAX_FILES} files" if total <= most else f"{most} bytes"
            raise SnapshotError(f"{name}: found more than {what} of YAML and JSON", hint=_HINT)
        files.append((shown, content()))
    if not files:
        hint = f"{inner} is an archive in it: give that one" if inner else ""
        raise SnapshotError(f"{name}: found no YAML or JSON file among {others} files", hint=hint)
    return SupportBundle(files=tuple(files), others=others)


def _walked(name: str) -> Iterator[_Found]:
    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(name, onerror=refuse):
        folders.sort()
        for each in sorted(names):
            path = Path(folder) / each
            if path.is_file() and not path.is_symlink() and each.endswith(_ENDINGS):
                yield str(path), path.stat().st_size, path.read_bytes
            else:
                yield str(path), 0, None


def _members(name: str, archive: tarfile.TarFile) -> Iterator[_Found]:
    for member in archive:
        if not member.isdir():
            wanted = member.isreg() and member.name.endswith(_ENDINGS)
            content = archive.extractfile(member) if wanted else None
            yield f"{name}:{member.name}", member.size, content.read if content else None
    if archive.fileobj.tell() == archive.offset:
        raise tarfile.ReadError("it ends without the blocks that end an archive: copy it again")


def _zipped(name: str, archive: zipfile.ZipFile) -> Iterator[_Found]:
    for member in archive.infolist():
        if not member.is_dir():
            wanted = member.filename.endswith(_ENDINGS)
            content = functools.partial(archive.read, member) if wanted else None
            yield f"{name}:{member.filename}", member.file_size, content
