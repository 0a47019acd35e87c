"""Policies of a repository in a separate process with limits; exceeding them denies.

The process starts with the first policy that does not ship with gitbot, and runs until this one
ends. It is replaced if it ends early.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from gitbot.adapters.sandbox import policy_worker
from gitbot.adapters.sandbox.policy_worker import (
    Compiled,
    CompileRequest,
    EvaluateRequest,
    FailedPlaces,
    JudgeRequest,
    Question,
)
from gitbot.adapters.sandbox.worker_process import EndedError, LimitedProcess
from gitbot.errors import LimitExceeded
from gitbot.policy.worker_api import (
    EvaluatedStep,
    ExpressionError,
    Failed,
    Failure,
    Policy,
    PolicySubject,
    Program,
    project,
    read_by,
    reads,
)

SECONDS = 5  # of processor time for one question
_WAIT = 60  # seconds until an answer, on a busy machine
_TOTAL = 60  # seconds for all questions about the policies of a repository
_MOST_MADE = 32  # MiB of compiled policies, which this process reads without limits
_MOST_ENDS = 3  # policies of one question that may end the process
_TRIED = 50  # subjects of one question to try an expression
_OUT_OF_MEMORY = "out of memory"
_USED_UP = "other policies used up the time for all"


class LimitedPolicyRunner:
    """A PolicyRunner. Not thread-safe."""

    def __init__(self, seconds: int = SECONDS) -> None:
        self.process = LimitedProcess(
            "gitbot.adapters.sandbox.policy_worker",
            seconds=seconds,
            memory=policy_worker.MEMORY,
            answer=policy_worker.ANSWER,
            wait=_WAIT,
        )
        self.close = self.process.close
        self.begin()

    def begin(self) -> None:
        self._asked_for = 0.0
        self._made = 0

    def compile(self, text: str, *, names: frozenset[str], returns: str) -> Program:
        if self._made > _MOST_MADE * 2**20:
            raise ExpressionError(f"all policies together compile to more than {_MOST_MADE} MiB")
        try:
            made = self._ask(CompileRequest(text=text, names=names, returns=returns), Compiled)
        except EndedError as ended:
            raise ExpressionError(str(ended)) from ended
        if made.program is None:
            raise ExpressionError(made.wrong, line=made.line, column=made.column)
        program: Program = made.program
        self._made += len(program.checked)
        return program

    def failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> Iterable[Failed]:
        """All at once; without an answer, each alone, to name those that give none."""
        if not subjects:
            return ()
        try:
            return self._failed(policies, subjects)
        except EndedError as ended:
            if len(policies) == 1:
                return (_unanswered(policies[0], str(ended)),)
        found: list[Failed] = []
        ends = 0
        for policy in policies:
            if ends == _MOST_ENDS:
                found.append(_unanswered(policy, _USED_UP))
                continue
            try:
                found += self._failed((policy,), subjects)
            except EndedError as ended:
                ends += 1
                found.append(_unanswered(policy, str(ended)))
        return found

    def tried(
        self, program: Program, subjects: Sequence[PolicySubject], *, whole: bool
    ) -> Iterator[EvaluatedStep]:
        """The values of an expression for each subject. Raises LimitExceeded."""
        read = reads(program)
        for place in range(0, len(subjects), _TRIED):
            values = [
                {name: project(subject.data[name], tree) for name, tree in read.items()}
                for subject in subjects[place : place + _TRIED]
            ]
            question = EvaluateRequest(program=program, subjects=values, whole=whole)
            try:
                yield from self._ask(question, list[EvaluatedStep])
            except EndedError as ended:
                raise LimitExceeded(f"the expression gives no answer: {ended}") from ended

    def _failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> list[Failed]:
        question = _question(policies, subjects)
        return [
            (policies[policy], subjects[subject], tuple(map(_limit_named, failures)))
            for policy, subject, failures in self._ask(question, FailedPlaces)
        ]

    def _ask(self, question: Question, answer: Any) -> Any:
        if self._asked_for > _TOTAL:
            raise EndedError(_USED_UP)
        begun = time.monotonic()
        try:
            return self._answer(question, answer)
        finally:
            self._asked_for += time.monotonic() - begun

    def _answer(self, question: Question, answer: Any) -> Any:
        try:
            data = msgspec.msgpack.encode(question, enc_hook=_plain)
        except (OverflowError, ValueError) as error:
            raise EndedError(f"a value that no policy can read: {error}") from error
        try:
            return msgspec.msgpack.decode(self.process.ask(data), type=answer)
        except msgspec.MsgspecError as error:
            self.close()
            raise EndedError("its answer cannot be read") from error


@lru_cache(maxsize=1)
def the_runner() -> LimitedPolicyRunner:
    """One process for all policies of this process; it starts with the first of them."""
    runner = LimitedPolicyRunner()
    atexit.register(runner.close)
    return runner


def _question(policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]) -> JudgeRequest:
    """Only the values that policies read; values that several subjects share only once."""
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
    return JudgeRequest(policies=policies, values=values, subjects=numbered)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(type(value).__name__)


def _limit_named(failure: Failure) -> Failure:
    if failure.error and failure.message.endswith(_OUT_OF_MEMORY):
        message = f"{failure.message}: it may use {policy_worker.MEMORY} MiB"
        return Failure(message=message, validation=failure.validation, error=True)
    return failure


def _unanswered(policy: Policy, why: str) -> Failed:
    failure = Failure(message=f"could not be judged: {why}", error=True)
    return policy, PolicySubject(name="", intent=None, data={}), (failure,)
