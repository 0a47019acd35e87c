"""Files of a working tree, the texts that ship with gitbot, and temporary folders."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gitbot.adapters.clock import SystemClock
from gitbot.errors import RepositoryError, UsageError
from gitbot.model.text.names import CONFIGURATION_FILE

MAX_FILES = 20_000
MAX_FILE_BYTES = 4 * 1024 * 1024
JUST_MADE = 60  # seconds in which a temporary folder may have no lock yet


def find_root(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that contains `.gitbot.yaml`."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / CONFIGURATION_FILE).is_file():
            return folder
    raise UsageError(
        f"there is no {CONFIGURATION_FILE} in {start} or above it",
        hint="run gitbot in a clone of the intents repository, or write a working example with "
        "`gitbot init`",
    )


def read_working_tree(root: Path, prefix: str) -> Mapping[str, bytes]:
    """Repository path to content of every YAML and .ics file below `root/prefix`, sorted by path.

    Symbolic links, executables, special files and files over the budget raise RepositoryError.
    """
    base, endings = root / prefix, {".yaml", ".yml", ".ics"}
    if base.is_symlink() or (base.is_file() and base.suffix in endings):
        return {prefix: read_plain_file(base, prefix)}
    paths = sorted(path for path in _walk(base) if path.suffix in endings)
    if len(paths) > MAX_FILES:
        raise RepositoryError(f"{prefix} holds {len(paths)} files, at most {MAX_FILES} are read")
    return {
        path.relative_to(root).as_posix(): read_plain_file(path, path.relative_to(root).as_posix())
        for path in paths
    }


def read_plain_file(path: Path, shown: str) -> bytes:
    """The content of one plain file. Errors name it `shown`."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise RepositoryError(
                f"{shown} is a symbolic link", hint="put what it leads to in its place"
            )
        if not stat.S_ISREG(mode):
            raise RepositoryError(f"{shown} is not a plain file", hint="put one in its place")
        if mode & 0o111:
            raise RepositoryError(f"{shown} is executable", hint=f"chmod a-x {shown}")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise RepositoryError(
                f"{shown} holds {path.stat().st_size} bytes, at most {MAX_FILE_BYTES} are read"
            )
        return path.read_bytes()
    except OSError as error:
        raise RepositoryError(f"{shown} cannot be read: {error.strerror}") from error


def _walk(base: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise RepositoryError(f"{error.filename} cannot be read: {error.strerror}")

    for folder, folders, files in os.walk(base, onerror=refuse if base.exists() else None):
        folders.sort()
        for name in sorted((*folders, *files)):  # a broken link is among the files
            if (Path(folder) / name).is_symlink():
                raise RepositoryError(f"{Path(folder) / name} is a symbolic link")
        yield from (Path(folder) / name for name in files)


class ShippedTexts:
    """Templates and policy packs: inside the wheel, or beside the package in a checkout."""

    def templates(self) -> Mapping[str, str]:
        return _read_shipped("templates", {".j2"})

    def policies(self) -> Mapping[str, str]:
        return _read_shipped("policies", {".yaml"})

    def meanings(self) -> Mapping[str, str]:
        """One line for each finding: its code, the place in the documentation, and its meaning."""
        return _read_shipped("templates", {".tsv"})

    def reference(self) -> str:
        """Address of the folder with the reference pages."""
        return _shipped_folder("docs/reference").as_uri()

    def workflows(self) -> Mapping[str, str]:
        """File name of each GitHub workflow to its text, with placeholders that `init` replaces."""
        return _read_shipped("templates/github", {".yml"})


def _shipped_folder(name: str) -> Path:
    package = Path(__file__).resolve().parent.parent
    candidates = (package / "_shipped" / name, package.parent / name)
    folder = next((path for path in candidates if path.is_dir()), None)
    if folder is None:
        raise UsageError(f"gitbot's own {name} are missing", hint="install gitbot again")
    return folder


def _read_shipped(name: str, suffixes: set[str]) -> Mapping[str, str]:
    folder = _shipped_folder(name)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in suffixes
    }


def _sweep(prefix: str) -> None:
    """Remove the folders of killed processes: no process has their lock any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            known = path.lstat()
            ours = known.st_uid == os.getuid() and stat.S_ISDIR(known.st_mode)
            if ours and SystemClock().now() - known.st_ctime > JUST_MADE:
                with locked_folder(path):
                    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Take the lock of a folder, until the end of the process at most. Raises BlockingIOError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """A private folder that is removed afterwards, even if the removal is interrupted.

    It is not an error if another process still writes into the folder. Folders of that name that a
    killed process left behind are removed first.
    """
    prefix = f"gitbot-{name}-"
    _sweep(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        with locked_folder(folder):
            yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
