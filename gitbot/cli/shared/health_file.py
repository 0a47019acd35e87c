"""The health of `reconcile --watch`, as a file and as a line, for liveness and readiness probes.

The file's modification time is the heartbeat. Its one line begins with `ok` after a good pass, and
with `failing` while gitbot cannot do its work: something is out of reach, or the ledger is lost. If
a person stopped it, the line is `ok`, with who and why. It ends with `internal=N` if the planner
contradicted itself N times in the last pass.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.errors import UsageError
from gitbot.model.text.instants import format_instant
from gitbot.reports.escape import terminal
from gitbot.wiring import replace_file, seconds_counted

if TYPE_CHECKING:
    from gitbot.workflows.apply import Standstill


class HealthFile:
    """Replaces the file in one step, by renaming; without a path there is none."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._text = "starting\n"
        self._beaten = seconds_counted()
        self._write()

    @property
    def line(self) -> str:
        """What the file contains, or would."""
        return self._text

    def beaten(self) -> float:
        """Seconds since the last heartbeat."""
        return seconds_counted() - self._beaten

    def beat(self) -> None:
        self._beaten = seconds_counted()
        if self._path is not None:
            try:
                os.utime(self._path)
            except OSError:  # somebody removed it: write it again
                self._write()

    def good(self, now: int, held: str = "", *, internal: int = 0) -> None:
        self._say("ok", now, f"stopped: {held}" if held else "", internal)

    def passed(
        self, now: int, still: Standstill | None, *, unsure: bool, internal: int = 0
    ) -> None:
        """After a pass: `still` is why nothing could start, `unsure` that something has no plan.

        `internal` counts the findings plan/internal.
        """
        if still is not None and not still.healthy:
            self.failing(now, str(still), internal=internal)
        elif unsure:
            self.failing(now, "pull requests could not be planned", internal=internal)
        else:
            self.good(now, str(still or ""), internal=internal)

    def failing(self, now: int, reason: str, *, internal: int = 0) -> None:
        self._say("failing", now, reason, internal)

    def _say(self, state: str, now: int, why: str, internal: int) -> None:
        said = terminal(why.splitlines()[0]) if why else ""
        count = f"internal={internal}" if internal else ""
        self._text = " ".join(filter(None, (state, format_instant(now), said, count))) + "\n"
        self._write()

    def _write(self) -> None:
        self._beaten = seconds_counted()
        if self._path is None:
            return
        try:
            replace_file(self._path, self._text.encode())
        except OSError as error:
            raise UsageError(
                f"the health file {self._path} cannot be written: {error.strerror}",
                hint="give --health-file a path in a folder that is there",
            ) from error
