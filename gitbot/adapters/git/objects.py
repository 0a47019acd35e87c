"""Reads and writes Git's objects without a checkout, and measures a commit before merging it.

Trees may contain each other: a commit of a few hundred bytes can have ten million paths, and Git
would walk all of them (a merge of one takes more than six gigabytes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitbot.adapters.git.process import Git
from gitbot.adapters.working_tree import temporary_folder
from gitbot.errors import RepositoryError

MAX_FILES = 20_000
MAX_BYTES = 64 * 1024 * 1024

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_PARTIAL = "in a partial clone: git fetch --refetch --no-filter"  # gitbot fetches nothing into it
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


def list_tree(git: Git, rev: str, prefix: str, *, bounded: bool = True) -> tuple[TreeEntry, ...]:
    """All blobs below a prefix, sorted by path. Refuses entries that gitbot does not read."""
    arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", rev]
    if prefix:  # without the slash, so that a link or submodule instead of a folder is found, too
        arguments += ["--", prefix.rstrip("/")]
    output = git.run(arguments)
    entries = tuple(sorted(_entries(output), key=lambda entry: entry.path))
    if any(f"{entry.path}/" == prefix for entry in entries):
        raise RepositoryError(f"{prefix} is a file", hint="put a folder in its place")
    if bounded and (len(entries) > MAX_FILES or sum(entry.size for entry in entries) > MAX_BYTES):
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
        if size == "BAD":  # Git's word for an object that is not there
            raise RepositoryError(f"{path} is missing in this clone", hint=_PARTIAL)
        if mode in _REFUSED_MODES or kind != "blob":
            found = _REFUSED_MODES.get(mode, f"a {kind}")
            raise RepositoryError(f"{path} is {found}", hint="gitbot reads plain files only")
        yield TreeEntry(mode=mode, id=identity, size=int(size), path=path)


def _checked_path(raw: bytes) -> str:
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RepositoryError(f"the path {raw!r} is not UTF-8") from error
    if _CONTROL.search(raw):
        raise RepositoryError(f"the path {path!r} holds a control character")
    return path


def read_blobs(git: Git, ids: tuple[str, ...]) -> Mapping[str, bytes]:
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
            raise RepositoryError(f"object {identity} is missing or not a blob: {' '.join(header)}")
        size = int(header[2])
        contents[identity] = output[end + 1 : end + 1 + size]
        offset = end + 1 + size + 1
    return contents


MAX_CHANGES = 100_000  # paths
MAX_NEW_BYTES = 256 * 1024 * 1024  # of all new contents together
_LISTED = 200  # bytes of a listed change with a path of usual length


def must_be_modest(git: Git, before: str, after: str) -> None:
    """Raise RepositoryError if a commit changes too many paths, or adds too many bytes.

    The list is a stream that we can end early: `git diff` collects everything before it prints.
    """
    listing = ["ls-tree", "-r", "-z", "--full-tree"]
    known = git.run([*listing, before])
    output = git.run_short([*listing, after], len(known) + MAX_CHANGES * _LISTED)
    present = frozenset(known.split(b"\0"))
    new = None if output is None else [it for it in output.split(b"\0") if it not in present]
    if new is None or len(new) > MAX_CHANGES:
        raise RepositoryError(
            f"{after[:12]} changes more than {MAX_CHANGES} files",
            hint="split it: gitbot merges in memory",
        )
    sizes = git.run(["cat-file", "--batch-check=%(objectsize)"], stdin=_blobs(new))
    total = sum(int(line) for line in sizes.split() if line.isdigit())
    if total > MAX_NEW_BYTES:
        raise RepositoryError(
            f"{after[:12]} brings {total} bytes",
            hint=f"gitbot merges at most {MAX_NEW_BYTES} new bytes in memory",
        )


def _blobs(entries: list[bytes]) -> bytes:
    """The ids of files among listed entries (mode, kind, id, tab, path), each once, in lines."""
    heads = (entry.partition(b"\t")[0].split() for entry in entries)
    found = dict.fromkeys(head[2] for head in heads if len(head) == 3 and head[1] == b"blob")
    return b"".join(identity + b"\n" for identity in found)


_REMOVED = "0 " + "0" * 40


def write_tree(git: Git, base: str | None, files: Mapping[str, bytes | None]) -> str:
    """The id of the tree of `base` (None: empty) with files replaced, added or (None) removed."""
    with temporary_folder("index") as folder:
        environment = {"GIT_INDEX_FILE": str(folder / "index")}
        if base:
            git.run(["read-tree", base], environment=environment)
        lines = b"".join(_index_line(git, path, data) for path, data in sorted(files.items()))
        git.run(["update-index", "-z", "--index-info"], stdin=lines, environment=environment)
        return git.run(["write-tree"], environment=environment).decode("ascii").strip()


def commit_tree(
    git: Git,
    tree: str,
    *,
    parents: tuple[str, ...],
    message: str,
    name: str,
    email: str,
    time: int,
) -> str:
    """Create a commit object without a ref. Same input, same id."""
    who = {"NAME": name, "EMAIL": email, "DATE": f"@{time} +0000"}
    environment = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    arguments = ["commit-tree", tree]
    for parent in parents:
        arguments += ["-p", parent]
    output = git.run(
        [*arguments, "-F", "-"], stdin=message.encode("utf-8"), environment=environment
    )
    return output.decode("ascii").strip()


def _index_line(git: Git, path: str, data: bytes | None) -> bytes:
    if data is None:
        return f"{_REMOVED}\t{path}".encode() + b"\0"
    blob = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode("ascii").strip()
    return f"100644 {blob}\t{path}".encode() + b"\0"
