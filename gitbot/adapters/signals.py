"""Requests to end: SIGINT from a person or a CI system, SIGTERM from the system.

The first signal asks: workers check `Stop.asked` at their next safe point, and a sleep ends
immediately. The second one interrupts like Ctrl-C. The first signal raises nothing, because an
exception at an arbitrary line would look like a failure there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitbot.ports.clock import Clock

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SLICE = 1  # seconds; a signal ends a sleep within this time


class Stop:
    """Whether a signal asked to end."""

    def __init__(self) -> None:
        self._asked = False

    def asked(self) -> bool:
        return self._asked

    def ask(self, *_signal: object) -> None:
        """Handle a signal. The second one raises KeyboardInterrupt."""
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True


class StoppableClock:
    """A clock whose sleep ends early on a signal. It calls `beat` while it sleeps."""

    def __init__(self, inner: Clock, stop: Stop, beat: Callable[[], None] | None = None) -> None:
        self._inner = inner
        self._stop = stop
        self._beat = beat

    def now(self) -> int:
        return self._inner.now()

    def sleep(self, seconds: int) -> None:
        left = seconds
        while left > 0 and not self._stop.asked():
            if self._beat is not None:
                self._beat()
            self._inner.sleep(min(_SLICE, left))
            left -= _SLICE


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Let SIGINT and SIGTERM ask to end; restore the previous handlers afterwards."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread can handle signals
        return
    before = {number: signal.signal(number, stop.ask) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the end of the block, and handle them there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, _: told.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for waited in told:
            signal.raise_signal(waited)
