"""The files that lint reads, and findings about files that it cannot read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gitbot.documents import TOP, finding_at
from gitbot.model.plan.findings import Finding
from gitbot.model.text.names import CONFIGURATION_FILE

FOLDERS = ("intents", "policies")
MAX_FILES = 20_000
MAX_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Files:
    """Repository path to content, and findings about files that are not read."""

    contents: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    bytes: int = 0

    def refuse(self, path: str, found: str, expected: str, hint: str) -> None:
        message = f"found {found}, expected {expected}"
        self.findings.append(finding_at(path, TOP, "files/unreadable", message, hint))


def read_tree(root: Path, folders: tuple[str, ...] = FOLDERS, named: tuple[str, ...] = ()) -> Files:
    """The configuration, `named` files, and every file below some folders of a working tree.

    Symbolic links, executables, special and unreadable files are findings, wherever they are.
    """
    files = Files()
    _read(files, str(root / CONFIGURATION_FILE), CONFIGURATION_FILE)
    for path in named:
        if (root / path).exists():  # `lint` says what is missing
            _read(files, str(root / path), path)
    below = len(str(root)) + 1
    for folder in folders:
        for path in _walk(files, root, root / folder):
            if len(files.contents) >= MAX_FILES:
                shown = _shown(path, below)
                files.refuse(shown, f"more than {MAX_FILES} files", "fewer", "split the repository")
                return files
            _read(files, path, _shown(path, below))
    return files


def _shown(path: str, below: int) -> str:
    """The path inside the repository; `below` is the length of the repository's path plus one."""
    return path[below:].replace(os.sep, "/")


def _walk(files: Files, root: Path, base: Path) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        shown = Path(error.filename).relative_to(root).as_posix()
        files.refuse(shown, "an unreadable folder", "a readable one", str(error.strerror))

    if base.is_symlink():
        files.refuse(
            base.relative_to(root).as_posix(),
            "a symbolic link",
            "a folder",
            "gitbot follows no links",
        )
        return
    if not base.exists():
        return
    for folder, folders, names in os.walk(base, onerror=unreadable):
        folders.sort()
        for name in list(folders):
            if (path := Path(folder) / name).is_symlink():
                shown = path.relative_to(root).as_posix()
                files.refuse(shown, "a symbolic link", "a folder", "gitbot follows no links")
        yield from (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118 - thousands


def _contents(path: str) -> bytes:
    """The bytes of a plain file, unbuffered: buffers for thousands of files cost time."""
    with open(path, "rb", buffering=0, opener=_no_link) as file:
        return file.readall()


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _read(files: Files, path: str, shown: str) -> None:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            files.refuse(shown, "a symbolic link", "a file", "gitbot follows no links")
        elif not stat.S_ISREG(status.st_mode):
            files.refuse(shown, "a special file", "a plain file", "remove it")
        elif status.st_mode & 0o111:
            files.refuse(shown, "an executable file", "a plain file", "chmod a-x the file")
        elif files.bytes + status.st_size > MAX_BYTES:
            found = f"more than {MAX_BYTES} bytes in all files"
            files.refuse(shown, found, "fewer", "keep large files elsewhere")
        else:
            files.bytes += status.st_size
            files.contents[shown] = _contents(path)
    except OSError as error:
        files.refuse(shown, "an unreadable file", "a readable one", str(error.strerror))
