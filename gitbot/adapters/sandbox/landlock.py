"""Which files a worker may still read, by Landlock (Linux 5.13 and newer).

In a Landlock domain a process may not read the memory or the environment of one outside it, even as
root. Without Landlock, only the filter of system calls holds; docs/running.md says what is missing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # on every machine
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_SYSTEM = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/dev/urandom", "/dev/null")


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def readable() -> tuple[str, ...]:
    """What Python still imports, and what its libraries open."""
    return (*_SYSTEM, sys.prefix, sys.base_prefix, *filter(None, sys.path))


def read_only_from(paths: Iterable[str]) -> bool:
    """Refuse to read any other file; False if the kernel has no Landlock. It cannot be undone.

    Raises OSError if the kernel has it and refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _Ruleset(handled=_READ_FILE | _READ_FOLDER)
    rules = libc.syscall(_CREATE, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    if rules < 0:
        return False
    try:
        for path in dict.fromkeys(paths):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _allow(libc, rules, path)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or libc.syscall(_RESTRICT, rules, 0):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(rules)
    return True


def _allow(libc: ctypes.CDLL, rules: int, path: str) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = _READ_FILE | (_READ_FOLDER if Path(path).is_dir() else 0)
        rule = _Beneath(allowed=allowed, parent=handle)
        if libc.syscall(_ADD, rules, _BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), f"landlock_add_rule: {path}")
    finally:
        os.close(handle)
