"""Resource limits and the seccomp filter for workers that read untrusted input.

Memory and open files are limited, processor time by question. On Linux the process can open no
connection, start no program, neither read another process nor signal it, and change no file: a
filter of system calls refuses that, without any privileges. With Landlock it also reads no file but
programs and libraries.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import sys
from collections.abc import Mapping

from gitbot.adapters.sandbox.landlock import read_only_from, readable

_FILES = 64
_MIB = 2**20


def limit(memory: int) -> None:
    """Drop all that an answer does not need; `memory` in MiB. This cannot be undone."""
    _at_most(resource.RLIMIT_AS, memory * _MIB)
    _at_most(resource.RLIMIT_NOFILE, _FILES)
    _at_most(resource.RLIMIT_FSIZE, 0)
    _at_most(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux" and platform.machine() in _MACHINES:
        read_only_from(readable())
        _filter(_MACHINES[platform.machine()])


def limit_time(seconds: int) -> None:
    """End this process by SIGXCPU after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    # The limit is in whole seconds: rounded down, a question could be left with no time at all.
    last = math.ceil(used.ru_utime + used.ru_stime) + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]  # from outside, as by `ulimit -t`
    if hard != resource.RLIM_INFINITY:
        last = min(last, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (last, hard))


def _at_most(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (least, least))


_MACHINES = {"x86_64": 0, "aarch64": 1}
_AUDIT_NAMES = (0xC000003E, 0xC00000B7)
# Numbers of Linux' system calls, by machine; None: the machine does not have it.
_REFUSED: Mapping[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "execve": (59, 221),
    "execveat": (322, 281),
    "io_uring_setup": (425, 425),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "get_robust_list": (274, 100),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "openat2": (437, 437),
    "creat": (85, None),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rmdir": (84, None),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
_PRLIMIT = (302, 261)  # allowed for the process itself, whose number is 0
# Opening is refused if one of these flags is set; the number is the index of the flags' argument.
_OPEN: Mapping[str, tuple[int, tuple[int | None, int | None]]] = {
    "open": (1, (2, None)),
    "openat": (2, (257, 56)),
}
_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# instructions of classic BPF
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # refused with EPERM
_X32 = 0x40000000  # numbers of another calling convention on the same machine
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


def _filter(machine: int) -> None:
    """Raises OSError if the kernel has no seccomp."""
    rows = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_NAMES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for numbers in _REFUSED.values():
        if (number := numbers[machine]) is not None:
            rows += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    for place, numbers in _OPEN.values():
        if (number := numbers[machine]) is not None:
            rows += [
                (_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, _ARGUMENTS + 8 * place),
                (_ANY_BIT, 0, 1, _CHANGING),
                (_RETURN, 0, 0, _REFUSE),
                (_RETURN, 0, 0, _ALLOW),
            ]
    rows += [
        (_EQUAL, 0, 3, _PRLIMIT[machine]),
        (_LOAD, 0, 0, _ARGUMENTS),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _REFUSE),
    ]
    rows.append((_RETURN, 0, 0, _ALLOW))
    instructions = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    program = _FilterProgram(len(rows), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
