"""A person's clone without its configuration, hooks, attributes, grafts and replacements.

A clone may come from an archive or another account, and about fifty keys of its configuration run
programs. So Git never reads it: it works in a private directory with gitbot's own configuration,
whose `objects` and `refs` are links to those of the clone.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from weakref import WeakValueDictionary

from gitbot.adapters.working_tree import replace_file, temporary_folder
from gitbot.errors import RepositoryError

_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow")
_EXTENSION = re.compile(
    r"(?mi)^\s*(objectformat|refstorage)\s*=\s*(sha1|sha256|files|reftable)\s*$"
)
_BORROWED = "give it objects of its own: `git repack -a -d`, then remove objects/info/alternates"
_FOREIGN = "run gitbot as its owner, or trust it: git config --global --add safe.directory {folder}"


class Isolated:
    """A Git directory with the objects and refs of a repository; it goes with its last user."""

    def __init__(self) -> None:
        with ExitStack() as held:
            self.directory = held.enter_context(temporary_folder("clone")) / "clone.git"
            self.directory.mkdir()
            weakref.finalize(self, held.pop_all().close)

    def follow(self, own: Path, common: Path) -> None:
        """Link and copy what the repository has now."""
        for name in _LINKED:
            link = self.directory / name
            found = (common / name).exists() or name == "packed-refs"  # Git may write that later
            if found and not link.is_symlink():
                link.symlink_to(common / name)
        config = _configuration(common / "config").encode("ascii")
        for name, data in {"HEAD": (own / "HEAD").read_bytes(), "config": config}.items():
            known = self.directory / name
            if not known.exists() or known.read_bytes() != data:
                replace_file(known, data)


_isolated: WeakValueDictionary[Path, Isolated] = WeakValueDictionary()
"""By the `.git`: a process that opens a repository again and again needs one directory."""


def isolated(entry: Path, trusted: Callable[[], frozenset[str]]) -> Isolated:
    """A Git directory with the objects and refs of `entry`, a `.git` or a bare repository.

    `trusted` lists the folders of other accounts that the person trusts ("*": all). Raises
    RepositoryError if another account owns a part of the repository, or its objects are elsewhere.
    """
    try:
        own, common = _trusted_directories(entry, trusted)
        _check_objects(common / "objects")
        known = _isolated.get(entry)
        if known is None:
            known = _isolated[entry] = Isolated()
        known.follow(own, common)
    except OSError as error:
        raise RepositoryError(
            f"{entry} cannot be read as a repository: {error.strerror}"
        ) from error
    return known


def config_file(entry: Path, trusted: Callable[[], frozenset[str]]) -> Path:
    """The file with the configuration of a clone, which says nothing about its objects.

    Raises RepositoryError if another account owns a part of the repository.
    """
    try:
        return _trusted_directories(entry, trusted)[1] / "config"
    except OSError as error:
        raise RepositoryError(f"{entry} cannot be read: {error.strerror}") from error


def _trusted_directories(entry: Path, trusted: Callable[[], frozenset[str]]) -> tuple[Path, Path]:
    own, common = _directories(entry)
    root = entry.parent if entry.name == ".git" else entry
    _check_owner((root, entry, own, common, common / "config", own / "HEAD"), trusted)
    return own, common


def _directories(entry: Path) -> tuple[Path, Path]:
    """The Git directory behind a `.git`, and the one that it shares with linked work trees."""
    own = entry
    if entry.is_file():
        said = entry.read_text(encoding="utf-8", errors="surrogateescape")
        own = entry.parent / said.removeprefix("gitdir:").strip()
    shared = own / "commondir"
    if not shared.is_file():
        return own, own
    return own, own / shared.read_text(encoding="utf-8", errors="surrogateescape").strip()


def _check_owner(parts: tuple[Path, ...], trusted: Callable[[], frozenset[str]]) -> None:
    """As Git checks it: root may also read what belongs to the account that called sudo."""
    known = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        known.add(int(os.environ["SUDO_UID"]))
    foreign = next((path for path in parts if path.exists() and _owner(path) not in known), None)
    if foreign is None or trusted() & {"*", str(parts[0]), str(parts[0].resolve())}:
        return
    raise RepositoryError(
        f"{foreign} belongs to another account",
        hint=_FOREIGN.format(folder=parts[0]),
    )


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _check_objects(objects: Path) -> None:
    """Objects of another repository are not the clone's to show."""
    for name in ("alternates", "http-alternates"):
        if (objects / "info" / name).exists():
            raise RepositoryError(f"{objects} borrows from another repository", hint=_BORROWED)
    for path in (objects, objects / "pack", objects / "info"):
        if path.is_symlink():
            raise RepositoryError(f"{path} is a symbolic link", hint="put the folder in its place")


def _configuration(config: Path) -> str:
    """The keys of the clone that gitbot takes over: how objects and refs are stored."""
    said = config.read_text(encoding="utf-8", errors="replace") if config.exists() else ""
    found = dict(_extensions(said))
    lines = [f"\t{key} = {value}\n" for key, value in found.items()]
    core = f"[core]\n\trepositoryformatversion = {1 if lines else 0}\n\tbare = true\n"
    return core + (f"[extensions]\n{''.join(lines)}" if lines else "")


def _extensions(said: str) -> Iterator[tuple[str, str]]:
    for key, value in _EXTENSION.findall(said):
        yield key.lower(), value.lower()
