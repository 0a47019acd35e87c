"""Progress on stderr: nothing for two seconds, then one line that changes.

A log gets a whole line every ten seconds instead, and every minute while nothing changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from gitbot.adapters.signals import Stop, end_when_late, stop_on_signals
from gitbot.model.progress import PLANNING

_FIRST, _REFRESH = 2.0, 0.5  # seconds, on a terminal
_LOGGED = 10.0  # seconds between lines in a log
_SAME = 60.0  # seconds between equal lines in a log
_CLEAR = "\r\x1b[K"

ENDING = 15.0
"""Seconds in which planning gives the plan so far once a signal asks it to."""


class StderrProgress:
    """Shows the current stage of a command. A thread writes, so stages do not read the clock."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stop = Stop()
        self._terminal = stream.isatty()
        self._began = time.monotonic()
        self._stage = ""
        self._moves = 0
        self._line = threading.Lock()
        self._shown = False
        self._logged = ("", 0.0)  # the last line of a log, and its time
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def begins(self, stage: str) -> None:
        """The next stage; "" removes the line, so that other code can write to stderr."""
        with self._line:
            self._stage, self._moves = stage, 0
            if not stage:
                self._clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Other code writes whole lines meanwhile; then the line is shown again."""
        with self._line:
            self._clear()
            yield

    def planned(self, moves: int) -> None:
        self._moves = max(self._moves, moves)

    def stopped(self) -> bool:
        return self._stop.asked()

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Meanwhile, the first signal asks the planning to stop, within ENDING seconds."""
        with (
            stop_on_signals() as self._stop,
            end_when_late(self._stop, lambda: self._stage == PLANNING, seconds=ENDING),
        ):
            yield

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show progress meanwhile."""
        self._thread.start()
        try:
            yield
        finally:
            self.begins("")
            self._over.set()

    def _write(self) -> None:
        pause = _FIRST if self._terminal else _LOGGED
        while not self._over.wait(pause):
            with self._line:
                if self._stage and not self._over.is_set() and self._is_news():
                    self._stream.write(self._text())
                    self._stream.flush()
                    self._shown = self._terminal
            pause = _REFRESH if self._terminal else _LOGGED

    def _clear(self) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False

    def _is_news(self) -> bool:
        """Whether a log lacks this line; a terminal shows the seconds."""
        what, now = self._what(), time.monotonic()
        last, at = self._logged
        if not self._terminal and what == last and now - at < _SAME:
            return False
        self._logged = (what, now)
        return True

    def _what(self) -> str:
        return f"{self._stage}{f', {self._moves} moves so far' if self._moves else ''}"

    def _text(self) -> str:
        seconds = int(time.monotonic() - self._began)
        text = f"{self._what()}, {seconds} s"
        if self.stopped():
            text = f"ending with the plan so far ({text}); once more to end at once"
        return f"{_CLEAR}{text}" if self._terminal else f"{text}\n"
