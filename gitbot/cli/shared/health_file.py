"""The health file of `reconcile --watch`, for liveness and readiness probes.

Its modification time is the heartbeat. Its one line begins with `ok` after a good pass, and with
`failing` while gitbot cannot do its work: something is out of reach, or the ledger is lost. If a
person stopped it, the line is `ok`, with who and why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.errors import UsageError
from gitbot.model.text.instants import format_instant
from gitbot.reports.escape import terminal
from gitbot.wiring import replace_file

if TYPE_CHECKING:
    from gitbot.workflows.apply import Standstill


class HealthFile:
    """Replaces the file in one step, by renaming; does nothing without a path."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._text = "starting\n"
        self._write()

    def beat(self) -> None:
        if self._path is not None:
            try:
                os.utime(self._path)
            except OSError:  # somebody removed it: write it again
                self._write()

    def good(self, now: int, held: str = "") -> None:
        why = f" stopped: {terminal(held.splitlines()[0])}" if held else ""
        self._text = f"ok {format_instant(now)}{why}\n"
        self._write()

    def passed(self, now: int, still: Standstill | None, *, unsure: bool) -> None:
        """After a pass: `still` is why nothing could start, `unsure` that something has no plan."""
        if still is not None and not still.healthy:
            self.failing(now, str(still))
        elif unsure:
            self.failing(now, "pull requests could not be planned")
        else:
            self.good(now, str(still or ""))

    def failing(self, now: int, reason: str) -> None:
        self._text = f"failing {format_instant(now)} {terminal(reason.splitlines()[0])}\n"
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            replace_file(self._path, self._text.encode())
        except OSError as error:
            raise UsageError(
                f"the health file {self._path} cannot be written: {error.strerror}",
                hint="give --health-file a path in a folder that is there",
            ) from error
