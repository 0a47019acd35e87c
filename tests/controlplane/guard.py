"""Run one command, and end it when the process that asked for it is gone.

`python -I guard.py SECONDS COMMAND ...`: the command ends when this program's standard input is
closed, which the system does when the asking process dies in whatever way. On Linux the command
dies with this program too. Only the standard library, so that it starts at once.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from types import FrameType

POLL_SECONDS = 0.25
PR_SET_PDEATHSIG = 1


def die_with_the_guard() -> None:
    """Ask Linux to kill the command when this program is killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(grace: float, command: list[str]) -> int:
    """Wait for the end of the command, or for the end of the input."""
    asked_to_stop = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asked
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_the_guard,  # noqa: PLW1509 - no threads here
    )
    while process.poll() is None and not asked_to_stop:
        readable, _, _ = select.select([0], [], [], POLL_SECONDS)
        if readable and not os.read(0, 1024):
            break
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
