"""A process under limits that answers questions. Exceeding a limit ends that process only.

It starts with the first question, runs until this one ends, and is replaced if it ends early.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

_LOOK = 0.2  # seconds between two checks whether to stop


class EndedError(Exception):
    """The process gave no answer, and why. `slow`: it exceeded its time, or had to stop."""

    def __init__(self, why: str, *, slow: bool = False) -> None:
        super().__init__(why)
        self.slow = slow


class LimitedProcess:
    """A module to run with limits. Not thread-safe.

    `seconds` of processor time are for one question, `memory` and the longest answer in MiB.
    `wait`: seconds until an answer, on a busy machine. `grace`: seconds until an answer once the
    process is asked to stop.
    """

    def __init__(
        self, module: str, *, seconds: int, memory: int, answer: int, wait: int, grace: int = 10
    ) -> None:
        self._command = (sys.executable, "-S", "-P", "-m", module, str(seconds))
        self._seconds, self._memory, self._longest, self._wait = seconds, memory, answer, wait
        self._grace = grace
        self.started: subprocess.Popen[bytes] | None = None

    def ask(self, question: bytes, stopped: Callable[[], bool] = lambda: False) -> bytes:
        """The answer. Once `stopped`, the process gets SIGTERM. Raises EndedError.

        The process is killed if its answer comes too late, and if a signal interrupts this one.
        """
        process = self._running()
        try:
            return self._answer(process, question, stopped)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        process, self.started = self.started, None
        if process is not None:
            _end(process)

    def _answer(
        self, process: subprocess.Popen[bytes], question: bytes, stopped: Callable[[], bool]
    ) -> bytes:
        assert process.stdin is not None
        last = time.monotonic() + self._wait
        try:
            process.stdin.write(len(question).to_bytes(4, "big") + question)
            process.stdin.flush()
            size = int.from_bytes(self._read(process, 4, last, stopped), "big")
            if size > self._longest * 2**20:
                raise EndedError(f"its answer is longer than {self._longest} MiB")
            return self._read(process, size, last, stopped)
        except BrokenPipeError:
            raise self._why(process) from None

    def _read(
        self,
        process: subprocess.Popen[bytes],
        size: int,
        last: float,
        stopped: Callable[[], bool],
    ) -> bytes:
        assert process.stdout is not None
        place, found, late = (
            process.stdout.fileno(),
            bytearray(),
            f"no answer within {self._wait} s",
        )
        told = False
        while len(found) < size:
            ready, _, _ = select.select([place], [], [], _LOOK)
            if not told and stopped():
                told, late = True, f"no answer within {self._grace} s of the request to stop"
                last = min(last, time.monotonic() + self._grace)
                process.terminate()
            if ready:
                part = os.read(place, min(size - len(found), 2**16))
                if not part:
                    raise self._why(process)
                found += part
            elif time.monotonic() > last:
                raise EndedError(late, slow=True)
        return bytes(found)

    def _why(self, process: subprocess.Popen[bytes]) -> EndedError:
        """Why the process ended."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self._wait)
        code = process.returncode
        outside = resource.getrlimit(resource.RLIMIT_CPU)[1]
        if code == -signal.SIGXCPU:
            return EndedError(f"more than {self._seconds} s of processor time", slow=True)
        if outside != resource.RLIM_INFINITY and code == -signal.SIGKILL:  # at the hard limit
            return EndedError(f"more than {outside} s of processor time (ulimit -t)", slow=True)
        if code == -signal.SIGTERM:
            return EndedError("it was told to stop", slow=True)
        ended = f"code {code}"
        if code is not None and code < 0:
            ended = signal.Signals(-code).name
        return EndedError(
            f"its process ended with {ended}; it may use {self._memory} MiB of memory"
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self.started is None:
            try:
                self.started = subprocess.Popen(  # noqa: S603 - constant arguments
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C"},
                    start_new_session=True,  # Ctrl-C is for the parent, which ends it
                )
            except OSError as error:
                raise EndedError(f"its process does not start: {error.strerror}") from error
        return self.started


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # unwritten data
            if stream is not None:
                stream.close()
    process.wait()
