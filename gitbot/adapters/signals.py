"""Requests to end: SIGINT from a person or a CI system, SIGTERM from the system.

The first signal asks: workers check `Stop.asked` at their next safe point, and a sleep ends
immediately. The second one interrupts like Ctrl-C. The first signal raises nothing, because an
exception at an arbitrary line would look like a failure there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitbot.errors import UserInterrupt
from gitbot.ports.clock import Clock

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SLICE = 1  # seconds; a signal ends a sleep within this time
_POLL = 0.1  # seconds


class Stop:
    """Whether a signal asked to end."""

    def __init__(self) -> None:
        self._asked = False
        self._late = ""

    def asked(self) -> bool:
        return self._asked

    def ask(self, *_signal: object) -> None:
        """Handle a signal. The second one raises KeyboardInterrupt, or UserInterrupt once late."""
        if self._late:
            raise UserInterrupt(self._late)
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def interrupt(self, why: str) -> None:
        """Raise UserInterrupt in the main thread, wherever it is."""
        self._late = why
        os.kill(os.getpid(), signal.SIGTERM)


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
def end_when_late(stop: Stop, busy: Callable[[], bool], *, seconds: float) -> Iterator[None]:
    """Interrupt what is still `busy` so many seconds after the first signal.

    After as many seconds again, end the process: the work catches the exception, or never returns
    to the interpreter.
    """
    over = threading.Event()

    def watch() -> None:
        while not stop.asked():
            if over.wait(_POLL):
                return
        why = f"planning did not end within {seconds:g} s of the signal: there is no plan"
        for end in (stop.interrupt, _exit):
            last = time.monotonic() + seconds
            while time.monotonic() < last:
                if over.wait(_POLL) or not busy():
                    return
            end(why)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _exit(why: str) -> None:
    sys.stderr.write(f"error: {why}\n")
    sys.stderr.flush()
    os._exit(UserInterrupt.exit_code)


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
