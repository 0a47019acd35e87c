"""A file that says how `reconcile --watch` is: what a liveness and a readiness probe look at.

Its modification time is the heartbeat. Its one line begins with `ok` after a good pass, and with
`failing` while something is out of reach.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitbot.errors import UsageError
from gitbot.model.instants import format_instant
from gitbot.reports.inert import terminal


class HealthFile:
    """Writes the file whole, by renaming; nothing at all where no path was given."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._text = "starting\n"
        self._write()

    def beat(self) -> None:
        """The loop is alive."""
        if self._path is not None:
            try:
                os.utime(self._path)
            except OSError:  # removed by somebody: written again
                self._write()

    def good(self, now: int) -> None:
        """A pass ended well."""
        self._text = f"ok {format_instant(now)}\n"
        self._write()

    def failing(self, now: int, reason: str) -> None:
        """A pass could not be made."""
        self._text = f"failing {format_instant(now)} {terminal(reason.splitlines()[0])}\n"
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        beside = self._path.with_name(f".{self._path.name}.new")
        try:
            beside.write_text(self._text, encoding="utf-8")
            beside.replace(self._path)
        except OSError as error:
            raise UsageError(
                f"the health file {self._path} cannot be written: {error.strerror}",
                hint="give --health-file a path in a folder that is there",
            ) from error
