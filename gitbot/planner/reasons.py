"""The smallest set of reasons why no node takes a VM, in words."""

from __future__ import annotations

from gitbot.model.names import NamespacedName
from gitbot.model.plan import NodeReasons
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.step import Wish


def summary(
    board: Board, vm: NamespacedName, wish: Wish, nodes: tuple[NodeReasons, ...]
) -> Obstacle:
    """One line that says why, and what would help."""
    del board, wish
    counts: dict[str, int] = {}
    for item in nodes:
        counts[item.reasons[0]] = counts.get(item.reasons[0], 0) + 1
    words = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return Obstacle(code="no-feasible-node", reason=f"no node takes {vm}: {words}")
