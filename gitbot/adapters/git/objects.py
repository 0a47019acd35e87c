"""Reading Git's objects: trees and blobs at a commit, never a checkout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitbot.adapters.git.process import Git
from gitbot.errors import RepositoryError

MAX_FILES = 20_000
MAX_BYTES = 64 * 1024 * 1024

_REFUSED_MODES = {
    "120000": "a symbolic link",
    "160000": "a submodule",
    "100755": "an executable file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One blob of a tree: octal mode, object id, size in bytes, path."""

    mode: str
    id: str
    size: int
    path: str


def list_tree(git: Git, rev: str, prefix: str) -> tuple[TreeEntry, ...]:
    """All blobs below a prefix, sorted by path; entries that gitbot does not read are refused."""
    arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", rev]
    if prefix:
        arguments += ["--", prefix]
    output = git.run(arguments)
    entries = tuple(sorted(_entries(output), key=lambda entry: entry.path))
    if len(entries) > MAX_FILES or sum(entry.size for entry in entries) > MAX_BYTES:
        raise RepositoryError(
            f"{prefix or 'the tree'} holds {len(entries)} files",
            hint=f"gitbot reads at most {MAX_FILES} files and {MAX_BYTES} bytes",
        )
    return entries


def _entries(output: bytes) -> Iterator[TreeEntry]:
    for record in output.split(b"\0"):
        if not record:
            continue
        head, _, raw_path = record.partition(b"\t")
        mode, kind, identity, size = head.decode("ascii").split()
        path = _checked_path(raw_path)
        if mode in _REFUSED_MODES or kind != "blob":
            found = _REFUSED_MODES.get(mode, f"a {kind}")
            raise RepositoryError(f"{path} is {found}", hint="gitbot reads plain files only")
        yield TreeEntry(mode=mode, id=identity, size=int(size), path=path)


def _checked_path(raw: bytes) -> str:
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RepositoryError(f"the path {raw!r} is not UTF-8") from error
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        raise RepositoryError(f"the path {path!r} holds a control character")
    return path


def read_blobs(git: Git, ids: tuple[str, ...]) -> Mapping[str, bytes]:
    """Object id to content, by one `cat-file --batch`."""
    if not ids:
        return {}
    wanted = tuple(dict.fromkeys(ids))
    output = git.run(["cat-file", "--batch"], stdin="".join(f"{i}\n" for i in wanted).encode())
    contents: dict[str, bytes] = {}
    offset = 0
    for identity in wanted:
        end = output.index(b"\n", offset)
        header = output[offset:end].decode("ascii").split()
        if len(header) != 3 or header[1] != "blob":
            raise RepositoryError(f"object {identity} is missing or no blob: {' '.join(header)}")
        size = int(header[2])
        contents[identity] = output[end + 1 : end + 1 + size]
        offset = end + 1 + size + 1
    return contents
