"""Secrets of the environment leave what other processes can read of it."""

from __future__ import annotations

import os

_NAMES = ("TOKEN", "KEY", "SECRET", "PASSWORD")
_NOTIFY = "GITBOT_NOTIFY_"  # the address of a webhook is a secret, too


def hide_secrets() -> None:
    """Blank secrets in `/proc/<pid>/environ`; `os.environ` and programs that start keep them.

    The kernel shows the memory in which a program got its environment, whatever the program has
    changed since. A worker without Landlock, of the same account, could read it.
    """
    secrets = [
        name
        for name, value in os.environ.items()
        if value and (name.upper().endswith(_NAMES) or name.startswith(_NOTIFY))
    ]
    if not secrets or os.name != "posix":
        return
    import ctypes  # noqa: PLC0415 - keeps a run without secrets quick

    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    for name in secrets:
        value = os.fsencode(os.environ[name])
        if place := libc.getenv(os.fsencode(name)):
            ctypes.memset(place, 0, len(value))
            os.putenv(name, os.fsdecode(value))  # a copy of it elsewhere, for child processes
