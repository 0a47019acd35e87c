"""Somebody who looks on while a plan is made: how far it is, and whether to end."""

from __future__ import annotations

from typing import Protocol


class Onlooker(Protocol):
    """Hears what a command does. Calls are cheap, and change nothing unless it asks to end."""

    def begins(self, stage: str) -> None:
        """The next stage, in words such as `planning`."""

    def planned(self, moves: int) -> None:
        """So many moves are planned by now; fewer than before if a search begins again."""

    def stopped(self) -> bool:
        """Whether somebody asked to end. Once true, it stays so."""


class _Nobody:
    def begins(self, stage: str) -> None:
        pass

    def planned(self, moves: int) -> None:
        pass

    def stopped(self) -> bool:
        return False


NOBODY: Onlooker = _Nobody()
