"""The clock: the only source of the current time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time for a program, virtual time for the simulator and tests."""

    def now(self) -> int:
        """The current time in UTC seconds."""

    def sleep(self, seconds: int, /) -> None: ...
