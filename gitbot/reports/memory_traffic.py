"""The memory that leaves and reaches each node or zone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitbot.model.grouping import grouped
from gitbot.model.plan.plan import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """VMs, and their guest memory in bytes."""

    vms: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What leaves and reaches a node or a zone; `free` memory before, in bytes."""

    name: str
    leaving: Amount
    arriving: Amount
    free: int


def traffic(
    moves: tuple[Move, ...], named: Iterable[tuple[str, tuple[str, int]]]
) -> tuple[Traffic, ...]:
    """`named` has a name of the node's own or of its zone, then the node and its free memory."""
    leaving = grouped((move.source.node, move) for move in moves)
    arriving = grouped((move.to.node, move) for move in moves)
    return tuple(
        Traffic(
            name=name,
            leaving=_amount(move for node, _ in nodes for move in leaving.get(node, ())),
            arriving=_amount(move for node, _ in nodes for move in arriving.get(node, ())),
            free=sum(free for _, free in nodes),
        )
        for name, nodes in grouped(named).items()
    )


def _amount(moves: Iterable[Move]) -> Amount:
    every = tuple(moves)
    return Amount(vms=len(every), memory=sum(move.memory_bytes for move in every))
