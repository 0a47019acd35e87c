"""A bounded Git command, for commits that any account may have pushed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitbot.errors import RepositoryError

_LOOK = 0.25  # seconds between two measurements of the disk
_DYING = 10  # seconds for killed processes to end
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandBound:
    """How many seconds a command may take, and how many bytes of packs it may fetch."""

    seconds: int
    bytes: int


def communicate_within(
    process: subprocess.Popen[bytes], directory: Path, bound: CommandBound
) -> tuple[bytes, bytes]:
    """Output and errors of a process. Raises RepositoryError if it exceeds the bound.

    `process` leads its own process group: a fetch is several processes, and those that download
    continue if only the first one ends. `directory` is the bare repository it writes to.
    """
    limit = size_of_packs(directory) + bound.bytes
    try:
        output = _communicate(process, directory, bound, limit)
    except BaseException:
        _end(process, directory)
        raise
    _must_fit(directory, bound, limit)
    return output


def _communicate(
    process: subprocess.Popen[bytes], directory: Path, bound: CommandBound, limit: int
) -> tuple[bytes, bytes]:
    for _ in range(int(bound.seconds / _LOOK)):
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(b"", timeout=_LOOK)
        _must_fit(directory, bound, limit)
    raise RepositoryError(f"it takes more than {bound.seconds} seconds")


def _must_fit(directory: Path, bound: CommandBound, limit: int) -> None:
    if size_of_packs(directory) > limit:
        raise RepositoryError(f"it brings more than {bound.bytes // _MIB} MiB")


def read_within(process: subprocess.Popen[bytes], limit: int, seconds: int) -> bytes | None:
    """The output of a process, None above `limit` bytes. In that case the process is ended."""
    assert process.stdout is not None
    watch = threading.Timer(seconds, process.kill)
    watch.start()
    try:
        output = process.stdout.read(limit + 1)
        if len(output) > limit:
            return None
        process.communicate()
        return output
    finally:
        watch.cancel()
        process.kill()
        process.communicate()


def size_of_packs(directory: Path) -> int:
    """The bytes of a bare repository's packs, including unfinished ones."""
    sizes = dict[int, int]()  # by inode: Git links a finished pack before it removes the old name
    with suppress(FileNotFoundError), os.scandir(directory / "objects" / "pack") as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # an unfinished one was renamed just now
                found = entry.stat()
                sizes[found.st_ino] = found.st_size
    return sum(sizes.values())


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    """End the whole command, and remove the files that would keep its pack from `git repack`."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_DYING)  # its children keep the pipes open until they end
    packs = directory / "objects" / "pack"
    without_index = (p for p in packs.glob("*.pack") if not p.with_suffix(".idx").exists())
    for left in [*packs.glob("tmp_*"), *packs.glob("*.keep"), *without_index]:
        left.unlink(missing_ok=True)
