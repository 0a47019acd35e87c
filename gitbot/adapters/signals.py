"""Being asked to end: SIGINT from a person or a CI system, SIGTERM from the system.

The first signal asks: whoever works looks at `Stop.asked` at its next safe point, and a sleep ends
at once. The second one interrupts like Ctrl-C always did. Nothing is raised at the first, because
an exception at any line would be taken for a failure of whatever was being done there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from gitbot.ports.clock import Clock

_SLICE = 1  # seconds; a signal ends a sleep within this time


class Stop:
    """Whether somebody asked to end."""

    def __init__(self) -> None:
        self._asked = False

    def asked(self) -> bool:
        """Whether a signal came."""
        return self._asked

    def ask(self, number: int = 0, frame: FrameType | None = None) -> None:
        """What a signal does; the second one raises KeyboardInterrupt."""
        del number, frame
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True


class StoppableClock:
    """A clock whose sleep ends early when somebody asks to end; it calls `beat` while it sleeps."""

    def __init__(self, inner: Clock, stop: Stop, beat: Callable[[], None] | None = None) -> None:
        self._inner = inner
        self._stop = stop
        self._beat = beat

    def now(self) -> int:
        """The present in seconds UTC."""
        return self._inner.now()

    def sleep(self, seconds: int) -> None:
        """Wait that long, or until somebody asks to end."""
        left = seconds
        while left > 0 and not self._stop.asked():
            if self._beat is not None:
                self._beat()
            self._inner.sleep(min(_SLICE, left))
            left -= _SLICE


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """SIGINT and SIGTERM ask while this is open; afterwards they do what they did before."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may take signals
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
