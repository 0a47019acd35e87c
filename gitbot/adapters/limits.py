"""What a process gives up that reads what others wrote.

Memory, open files and written files are limited, processor time by question. On Linux it can open
no connection, start no program and look into no other process: a filter of system calls refuses
that, which needs no rights.
"""

from __future__ import annotations

import ctypes
import platform
import resource
import sys
from collections.abc import Sequence

_FILES = 64
_MIB = 2**20


def limit(memory: int) -> None:
    """Give up what an answer does not need; `memory` in MiB. None of it can be taken back."""
    _at_most(resource.RLIMIT_AS, memory * _MIB)
    _at_most(resource.RLIMIT_NOFILE, _FILES)
    _at_most(resource.RLIMIT_FSIZE, 0)
    _at_most(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux" and platform.machine() in _REFUSED:
        _filter(*_REFUSED[platform.machine()])


def limit_time(seconds: int) -> None:
    """End this process by SIGXCPU after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    last = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (last, resource.RLIM_INFINITY))


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
