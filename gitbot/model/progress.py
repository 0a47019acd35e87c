"""Somebody who looks on while a plan is made: how far it is, and whether to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class PlanningProgress(Protocol):
    """Hears what a command does. Calls are cheap, and change nothing unless it asks to end."""

    def begins(self, stage: str) -> None:
        """The next stage, in words such as `planning`."""

    def planned(self, moves: int) -> None:
        """So many moves are planned by now; fewer than before if a search begins again."""

    def stopped(self) -> bool:
        """Whether somebody asked to end. Once true, it stays so."""


class _NoProgress:
    def begins(self, stage: str) -> None:
        pass

    def planned(self, moves: int) -> None:
        pass

    def stopped(self) -> bool:
        return False


NO_PROGRESS: PlanningProgress = _NoProgress()


class PlanningDeadline:
    """An onlooker that asks to end when its time is over, too. `count` never steps back."""

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
