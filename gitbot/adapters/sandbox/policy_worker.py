"""Compiles and evaluates policies: `python -m gitbot.adapters.sandbox.policy_worker`.

It reads questions from standard input and writes answers to standard output until the input ends,
under limits, without its parent's environment variables.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import msgspec

if __name__ == "__main__":  # without the room's __init__, which takes four times as long to import
    _room = ModuleType("gitbot.policy")
    _room.__path__ = [str(Path(__file__).parents[2] / "policy")]
    sys.modules["gitbot.policy"] = _room

from gitbot.adapters.sandbox.seccomp import limit, limit_time
from gitbot.policy.worker_api import (
    EvaluatedStep,
    ExpressionError,
    Failure,
    Policy,
    PolicySubject,
    Program,
    compile_expression,
    failed_by,
    steps,
)

MEMORY = 1024  # MiB of addresses
ANSWER = 16  # MiB
_COLLECT_AFTER = 200_000  # a question has many values, and no cycles


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A program, or what is wrong and where."""

    program: Program | None = None
    wrong: str = ""
    line: int = 1
    column: int = 1


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True, tag="compile"):
    """One expression."""

    text: str
    names: frozenset[str]
    returns: str


class JudgeRequest(msgspec.Struct, frozen=True, kw_only=True, tag="judge"):
    """Policies over subjects. `values` are those of the subjects, by place, each once."""

    policies: tuple[Policy, ...]
    values: list[Any]
    subjects: list[dict[str, int]]


class EvaluateRequest(msgspec.Struct, frozen=True, kw_only=True, tag="try"):
    """An expression over subjects; `whole`: with the values of all its parts."""

    program: Program
    subjects: list[dict[str, Any]]
    whole: bool


FailedPlaces = list[tuple[int, int, tuple[Failure, ...]]]  # of policy and subject
Question = CompileRequest | JudgeRequest | EvaluateRequest


def serve(questions: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Answer until there are no more questions. Each starts with its length.

    `seconds` of processor time are for one question.
    """
    decoder = msgspec.msgpack.Decoder(Question)
    while size := questions.read(4):
        question = decoder.decode(questions.read(int.from_bytes(size, "big")))
        limit_time(seconds)
        answer = msgspec.msgpack.encode(_answer(question))
        answers.write(len(answer).to_bytes(4, "big") + answer)
        answers.flush()


def _answer(question: Question) -> Compiled | FailedPlaces | list[EvaluatedStep]:
    match question:
        case CompileRequest():
            return _compiled(question)
        case JudgeRequest():
            return _judged(question)
        case EvaluateRequest(program=program, subjects=subjects, whole=whole):
            return [steps(program, data, whole=whole) for data in subjects]


def _compiled(question: CompileRequest) -> Compiled:
    try:
        made = compile_expression(question.text, names=question.names, returns=question.returns)
    except ExpressionError as error:
        return Compiled(wrong=error.message, line=error.line, column=error.column)
    return Compiled(program=made)


def _judged(question: JudgeRequest) -> FailedPlaces:
    subjects: Sequence[PolicySubject] = [
        PolicySubject(
            name=str(place),
            intent=None,
            data={name: question.values[number] for name, number in numbers.items()},
        )
        for place, numbers in enumerate(question.subjects)
    ]
    places = {policy.name: place for place, policy in enumerate(question.policies)}
    return [
        (places[policy.name], int(subject.name), failed)
        for policy, subject, failed in failed_by(question.policies, subjects)
    ]


def main() -> None:
    limit(MEMORY)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    os.environ.clear()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    serve(questions, answers, int(sys.argv[1]))


if __name__ == "__main__":
    main()
