"""An onlooker of planning: it hears of progress and may ask to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

PLANNING = "planning"
"""The stage in which plans are made."""


class PlanningProgress(Protocol):
    """Hears what a command does. Calls are cheap, and change nothing unless it asks to stop."""

    def begins(self, stage: str) -> None:
        """The next stage, in words such as `planning`."""

    def planned(self, moves: int) -> None:
        """This many moves are planned by now; fewer than before if a search starts again."""

    def stopped(self) -> bool:
        """Whether to stop. Once true, it stays true."""


class _NoProgress:
    def begins(self, stage: str) -> None:
        pass

    def planned(self, moves: int) -> None:
        pass

    def stopped(self) -> bool:
        return False


NO_PROGRESS: PlanningProgress = _NoProgress()


class PlanningDeadline:
    """An onlooker that also asks to stop at a deadline. `count` never decreases."""

    def __init__(
        self, onlooker: PlanningProgress, count: Callable[[], float] | None, seconds: float
    ) -> None:
        self.begins = onlooker.begins
        self.planned = onlooker.planned
        self._asked = onlooker.stopped
        self._count = count
        self._last = count() + seconds if count is not None else 0.0

    def stopped(self) -> bool:
        return self._asked() or (self._count is not None and self._count() > self._last)
