"""Which way the board has come: one sequence of steps after the other, and where that led."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gitbot.planner.plan_types import Step
from gitbot.planner.state.plan_state import Mark, PlanState


class UndoPath:
    """The board after the steps that were asked for last. The owner undoes the rest in the end."""

    def __init__(self, board: PlanState) -> None:
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


def state_of(board: PlanState) -> Hashable:
    """All that answers depend on: equal again once everything has come back."""
    cordons = board.transit.world.state.unschedulable.tobytes()
    _, loose = board.mark()
    return board.transit.moved(), cordons, frozenset(loose.items()), frozenset(board.left.items())
