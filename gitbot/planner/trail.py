"""One sequence of steps on the board after the other, with what they have in common kept."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.planner.board import Board, Mark
from gitbot.planner.step import Step


class Trail:
    """The board after the steps that were asked for last. The owner undoes the rest in the end."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._steps: list[tuple[Step, Mark]] = []  # each with the state before it

    def go(self, steps: Sequence[Step]) -> None:
        same = 0
        for (known, _), step in zip(self._steps, steps, strict=False):
            if known is not step:
                break
            same += 1
        if same < len(self._steps):
            self._board.back(self._steps[same][1])
            del self._steps[same:]
        for step in steps[same:]:
            self._steps.append((step, self._board.mark()))
            self._board.take(step)
