"""Files of a working tree, the texts that ship with gitbot, and temporary folders."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType

from gitbot.errors import RepositoryError, UsageError
from gitbot.model.text.names import CONFIGURATION_FILE

MAX_FILES = 20_000
MAX_FILE_BYTES = 4 * 1024 * 1024
_PREFIX = "gitbot-"
_MARK = "made-by-gitbot"
_CONTENT = "content"
_LONGEST = 200  # bytes of a mark


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


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file in one step, so that no process reads half of it. Raises OSError."""
    beside = path.with_name(f".{path.name}.{token_hex(4)}.new")
    handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(beside, path)  # noqa: PTH105 - the one call that replaces in one step
    except BaseException:
        with suppress(OSError):
            beside.unlink()  # it is new: no file had this name
        raise


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
        return _read_shipped("templates", ".j2")

    def policies(self) -> Mapping[str, str]:
        return _read_shipped("policies", ".yaml")

    def meanings(self) -> Mapping[str, str]:
        """One line for each finding: its code, the place in the documentation, and its meaning."""
        return _read_shipped("templates", ".tsv")

    def reference(self) -> str:
        """Address of the folder with the reference pages."""
        return _shipped_folder("docs/reference").as_uri()

    def workflows(self, forge: str = "github") -> Mapping[str, str]:
        """File name of each workflow of a forge to its text. `init` replaces its placeholders."""
        return _read_shipped(f"templates/{forge}", ".yml")


def _shipped_folder(name: str) -> Path:
    package = Path(__file__).resolve().parent.parent
    candidates = (package / "_shipped" / name, package.parent / name)
    folder = next((path for path in candidates if path.is_dir()), None)
    if folder is None:
        raise UsageError(f"gitbot's own {name} are missing", hint="install gitbot again")
    return folder


@lru_cache
def _read_shipped(name: str, suffix: str) -> Mapping[str, str]:
    """Path to text. Read once: caches by text hold these for as long as the process runs."""
    folder = _shipped_folder(name)
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix == suffix
    }
    return MappingProxyType(texts)


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

    It is not an error if another process still writes into the folder. A process that makes its
    first one also removes what killed processes left behind.
    """
    place = tempfile.gettempdir()
    _sweep(place)
    parent = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-", dir=place))
    token = os.open(parent / _MARK, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(token, _proof(parent))  # under the lock: nobody may sweep what is in use
        (parent / _CONTENT).mkdir(mode=0o700)
        yield parent / _CONTENT
    finally:
        try:
            _remove(parent)
        except BaseException:
            _remove(parent)
            raise
        finally:
            os.close(token)


@cache  # a look at each folder there costs a pass more than its own folders
def _sweep(place: str) -> None:
    """Remove the folders of killed processes, and nothing that gitbot cannot prove to be its own.

    A name proves nothing: a person may have given it.
    """
    for parent in Path(place).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_own(parent):
                token = os.open(parent / _MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if _is_own(parent):  # still, now that no process has it
                        _remove(parent)
                finally:
                    os.close(token)


def _is_own(parent: Path) -> bool:
    """Whether `temporary_folder` made this very folder, and nothing was added beside its content.

    Only this account can write into it, and a copy or another folder of the name has another inode.
    Raises OSError.
    """
    folder, token = parent.lstat(), (parent / _MARK).lstat()
    private = stat.S_ISDIR(folder.st_mode) and stat.S_IMODE(folder.st_mode) == 0o700
    whose = {folder.st_uid, token.st_uid} == {os.geteuid()}
    plain = stat.S_ISREG(token.st_mode) and token.st_nlink == 1 and token.st_size < _LONGEST
    if not (private and whose and plain) or (parent / _MARK).read_bytes() != _proof(parent):
        return False
    return {path.name for path in parent.iterdir()} <= {_MARK, _CONTENT}


def _proof(folder: Path) -> bytes:
    known = folder.lstat()
    return f"gitbot made this temporary folder: {known.st_dev}:{known.st_ino}\n".encode()


def _remove(parent: Path) -> None:
    """The token goes last, so that the next run can finish what a kill interrupts."""
    shutil.rmtree(parent / _CONTENT, ignore_errors=True)
    if not (parent / _CONTENT).exists():
        (parent / _MARK).unlink(missing_ok=True)
        with suppress(OSError):
            parent.rmdir()
