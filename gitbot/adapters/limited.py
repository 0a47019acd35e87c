"""A process that compiles and evaluates policies of others: `python -m gitbot.adapters.limited`.

It reads questions from standard input and writes answers to standard output until the input ends.
Memory, open files and written files are limited, processor time by question. It has no variables
of its parent's environment. On Linux it can open no connection, start no program and look into no
other process: a filter of system calls refuses that, which needs no rights.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import msgspec

if __name__ == "__main__":  # without the face of the room, which takes four times as long to import
    _room = ModuleType("gitbot.policy")
    _room.__path__ = [str(Path(__file__).parents[1] / "policy")]
    sys.modules["gitbot.policy"] = _room

from gitbot.policy.running import (
    ExpressionError,
    Failure,
    Policy,
    PolicySubject,
    Program,
    compile_expression,
    failed_by,
)

MEMORY = 1024  # MiB of addresses
ANSWER = 16  # MiB
_FILES = 64
_COLLECT_AFTER = 200_000  # values of a question are many, and none of them is a cycle
_MIB = 2**20


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A program, or what is wrong and where."""

    program: Program | None = None
    wrong: str = ""
    line: int = 1
    column: int = 1


class ToCompile(msgspec.Struct, frozen=True, kw_only=True, tag="compile"):
    """One expression."""

    text: str
    names: frozenset[str]
    returns: str


class ToJudge(msgspec.Struct, frozen=True, kw_only=True, tag="judge"):
    """Policies over subjects. `values` are those of the subjects, by place, each once."""

    policies: tuple[Policy, ...]
    values: list[Any]
    subjects: list[dict[str, int]]


FailedPlaces = list[tuple[int, int, tuple[Failure, ...]]]  # of policy and subject
Question = ToCompile | ToJudge


def serve(questions: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Answer until there are no more questions. Each has its length before it.

    `seconds` of processor time are for one question.
    """
    decoder = msgspec.msgpack.Decoder(Question)
    while size := questions.read(4):
        question = decoder.decode(questions.read(int.from_bytes(size, "big")))
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        made = _compiled(question) if isinstance(question, ToCompile) else _judged(question)
        answer = msgspec.msgpack.encode(made)
        answers.write(len(answer).to_bytes(4, "big") + answer)
        answers.flush()


def _compiled(question: ToCompile) -> Compiled:
    try:
        made = compile_expression(question.text, names=question.names, returns=question.returns)
    except ExpressionError as error:
        return Compiled(wrong=error.message, line=error.line, column=error.column)
    return Compiled(program=made)


def _judged(question: ToJudge) -> FailedPlaces:
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


def limit() -> None:
    """Give up what a policy does not need. None of it can be taken back."""
    _at_most(resource.RLIMIT_AS, MEMORY * _MIB)
    _at_most(resource.RLIMIT_NOFILE, _FILES)
    _at_most(resource.RLIMIT_FSIZE, 0)
    _at_most(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux" and platform.machine() in _REFUSED:
        _filter(*_REFUSED[platform.machine()])


def _at_most(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (least, least))


# Audit name of the machine; numbers of socket, connect, execve, execveat, ptrace, kill,
# process_vm_readv, process_vm_writev, io_uring_setup in Linux' tables of system calls.
_REFUSED = {
    "x86_64": (0xC000003E, (41, 42, 59, 322, 101, 62, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 117, 129, 270, 271, 425)),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of classic BPF
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # refused with EPERM
_X32 = 0x40000000  # the numbers of another convention on the same machine
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER_MODE = 38, 22, 2


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def _filter(architecture: int, refused: Sequence[int]) -> None:
    """Raises OSError if the kernel has no seccomp."""
    rows = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, len(refused) + 1, 0, _X32),
        *((_EQUAL, len(refused) - place, 0, number) for place, number in enumerate(refused)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    instructions = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    program = _FilterProgram(len(rows), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def main() -> None:
    limit()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    os.environ.clear()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    serve(questions, answers, int(sys.argv[1]))


if __name__ == "__main__":
    main()
