"""A Git command about what anybody may have pushed: it may take so long and bring so much."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitbot.errors import RepositoryError

_LOOK = 0.25  # seconds between two looks at the disk
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many seconds a command may take, and how many bytes of packs it may bring."""

    seconds: int
    bytes: int


def communicate_within(
    process: subprocess.Popen[bytes], directory: Path, bound: Bound
) -> tuple[bytes, bytes]:
    """Output and errors of a process; RepositoryError where it goes beyond the bound.

    `process` leads a process group of its own: a fetch is several processes, and those that
    download go on when only the first one ends. `directory` is the bare repository it writes to.
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
    process: subprocess.Popen[bytes], directory: Path, bound: Bound, limit: int
) -> tuple[bytes, bytes]:
    for _ in range(int(bound.seconds / _LOOK)):
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(b"", timeout=_LOOK)
        _must_fit(directory, bound, limit)
    raise RepositoryError(f"it takes more than {bound.seconds} seconds")


def _must_fit(directory: Path, bound: Bound, limit: int) -> None:
    if size_of_packs(directory) > limit:
        raise RepositoryError(f"it brings more than {bound.bytes // _MIB} MiB")


def read_within(process: subprocess.Popen[bytes], limit: int, seconds: int) -> bytes | None:
    """What a process says, None where it is more than `limit` bytes; then the process is ended."""
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
    """The bytes that the packs of a bare repository take, unfinished ones too."""
    total = 0
    with suppress(FileNotFoundError), os.scandir(directory / "objects" / "pack") as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # an unfinished one got its name just now
                total += entry.stat().st_size
    return total


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    """End all of a command, and remove what it left half written."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for left in (directory / "objects" / "pack").glob("tmp_*"):
        left.unlink(missing_ok=True)
