"""Policies of a repository in a process of their own, with limits: what exceeds them denies.

The process starts with the first policy that does not ship with gitbot, and serves until this one
ends. It is replaced when it ends early.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from gitbot.adapters import limited
from gitbot.adapters.limited import Compiled, FailedPlaces, Question, ToCompile, ToJudge
from gitbot.policy.running import (
    ExpressionError,
    Failed,
    Failure,
    Policy,
    PolicySubject,
    Program,
    project,
    read_by,
)

SECONDS = 5  # of processor time for one question
_WAIT = 60  # seconds until an answer, on a machine that does other things too
_MOST_ENDS = 3  # policies of one question that may end the process
_OUT_OF_MEMORY = "out of memory"
_COMMAND = (sys.executable, "-S", "-P", "-m", "gitbot.adapters.limited")


class _EndedError(Exception):
    """The process gave no answer, and why."""


class LimitedPolicyRunner:
    """A PolicyRunner. It is not for several threads."""

    def __init__(self, seconds: int = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def compile(self, text: str, *, names: frozenset[str], returns: str) -> Program:
        try:
            made = self._ask(ToCompile(text=text, names=names, returns=returns), Compiled)
        except _EndedError as ended:
            raise ExpressionError(str(ended)) from ended
        if made.program is None:
            raise ExpressionError(made.wrong, line=made.line, column=made.column)
        program: Program = made.program
        return program

    def failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> Iterable[Failed]:
        """All at once; if that gives no answer, each alone, to name those that give none."""
        if not subjects:
            return ()
        try:
            return self._failed(policies, subjects)
        except _EndedError as ended:
            if len(policies) == 1:
                return (_unanswered(policies[0], str(ended)),)
        found: list[Failed] = []
        ends, last = 0, time.monotonic() + _WAIT
        for policy in policies:
            if ends == _MOST_ENDS or time.monotonic() > last:
                found.append(_unanswered(policy, "other policies used up the time for all"))
                continue
            try:
                found += self._failed((policy,), subjects)
            except _EndedError as ended:
                ends += 1
                found.append(_unanswered(policy, str(ended)))
        return found

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> list[Failed]:
        question = _question(policies, subjects)
        return [
            (policies[policy], subjects[subject], tuple(map(_limit_named, failures)))
            for policy, subject, failures in self._ask(question, FailedPlaces)
        ]

    def _ask(self, question: Question, answer: Any) -> Any:
        try:
            data = msgspec.msgpack.encode(question, enc_hook=_plain)
        except (OverflowError, ValueError) as error:
            raise _EndedError(f"a value that no policy can read: {error}") from error
        process = self._running()
        try:
            return msgspec.msgpack.decode(self._answer(process, data), type=answer)
        except msgspec.MsgspecError as error:
            self.close()
            raise _EndedError("its answer cannot be read") from error
        except BaseException:
            self.close()
            raise

    def _answer(self, process: subprocess.Popen[bytes], question: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        last = time.monotonic() + _WAIT
        try:
            process.stdin.write(len(question).to_bytes(4, "big") + question)
            process.stdin.flush()
            size = int.from_bytes(self._read(process, 4, last), "big")
            if size > limited.ANSWER * 2**20:
                raise _EndedError(f"its answer is longer than {limited.ANSWER} MiB")
            return self._read(process, size, last)
        except BrokenPipeError:
            raise _EndedError(self._why(process)) from None

    def _read(self, process: subprocess.Popen[bytes], size: int, last: float) -> bytes:
        assert process.stdout is not None
        place, found = process.stdout.fileno(), bytearray()
        while len(found) < size:
            ready, _, _ = select.select([place], [], [], max(0.0, last - time.monotonic()))
            if not ready:
                raise _EndedError(f"no answer within {_WAIT} seconds")
            part = os.read(place, min(size - len(found), 2**16))
            if not part:
                raise _EndedError(self._why(process))
            found += part
        return bytes(found)

    def _why(self, process: subprocess.Popen[bytes]) -> str:
        """Why the process is gone."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_WAIT)
        code = process.returncode
        if code == -signal.SIGXCPU:
            return f"more than {self._seconds} s of processor time"
        ended = f"code {code}"
        if code is not None and code < 0:
            ended = signal.Signals(-code).name
        return f"its process ended with {ended}; it may use {limited.MEMORY} MiB of memory"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - constant arguments
                    [*_COMMAND, str(self._seconds)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C"},
                    start_new_session=True,  # Ctrl-C is for the parent, which closes it
                )
            except OSError as error:
                raise _EndedError(f"its process does not start: {error.strerror}") from error
        return self._process


@lru_cache(maxsize=1)
def the_runner() -> LimitedPolicyRunner:
    """One process for all policies of this process; it starts with the first of them."""
    runner = LimitedPolicyRunner()
    atexit.register(runner.close)
    return runner


def _question(policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]) -> ToJudge:
    """Only what the policies read, and what several subjects share only once."""
    read = read_by(policies, messages=True)
    places: dict[tuple[str, int], int] = {}
    values: list[Any] = []
    numbered: list[dict[str, int]] = []
    for subject in subjects:
        numbers: dict[str, int] = {}
        for name, tree in read.items():
            value = subject.data[name]
            place = places.setdefault((name, id(value)), len(values))
            if place == len(values):
                values.append(project(value, tree))
            numbers[name] = place
        numbered.append(numbers)
    return ToJudge(policies=policies, values=values, subjects=numbered)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(type(value).__name__)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # what could not be written
            if stream is not None:
                stream.close()
    process.wait()


def _limit_named(failure: Failure) -> Failure:
    if failure.error and failure.message.endswith(_OUT_OF_MEMORY):
        message = f"{failure.message}: it may use {limited.MEMORY} MiB"
        return Failure(message=message, validation=failure.validation, error=True)
    return failure


def _unanswered(policy: Policy, why: str) -> Failed:
    failure = Failure(message=f"could not be judged: {why}", error=True)
    return policy, PolicySubject(name="", intent=None, data={}), (failure,)
