"""One running program of the control plane: started, watched, ended with its whole family."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
GRACE_SECONDS = 1.0
TAIL_LINES = 15
ROOMY = {"GOGC": "400"}
"""Memory for processor time, where the environment does not say otherwise: at Go's default of 100
an API server spends about a sixth of its time on collecting garbage."""


class Component:
    """A program under its guard: it ends with `stop`, and when this process ends in any way."""

    def __init__(self, name: str, command: Sequence[str], *, log: Path) -> None:
        self.name = name
        self.log = log
        self._command = [sys.executable, "-I", str(GUARD), str(GRACE_SECONDS), *command]
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._guard is not None and self._guard.poll() is None

    def start(self) -> None:
        """Start it; its output goes to its log."""
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**ROOMY, **os.environ},
                start_new_session=True,  # a Ctrl-C in the terminal is not for it
            )

    def stop(self) -> None:
        """End it and wait; a component that is not running stays so."""
        if self._guard is None:
            return
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(GRACE_SECONDS + 10)
        self._guard = None

    def tail(self) -> str:
        """The last lines of its log."""
        try:
            lines = self.log.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-TAIL_LINES:])


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
