"""Exact search: the shortest lawful sequence of steps, or the proof that there is none.

A* over the places of the VMs that may move (Hart, Nilsson, Raphael 1968). Each state is reached by
real steps on a fork of the board, so that nothing is assumed about what the constraints say.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitbot.model.constraint import Occupancy
from gitbot.model.names import NamespacedName
from gitbot.planner.board import Board
from gitbot.planner.step import Step

Offers = Callable[[Board, NamespacedName], Iterable[Step]]
Measure = Callable[[Occupancy], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best sequence seen, how much stays undone after it, and whether that is proven best."""

    steps: tuple[Step, ...]
    undone: int
    proven: bool


def shortest(
    board: Board,
    movers: Sequence[NamespacedName],
    offers: Offers,
    *,
    scope: Iterable[NamespacedName],
    undone: Measure,
    at_least: Measure,
    patience: int,
) -> Found:
    """The steps that leave least undone, fewest first, then least memory, then offers' order.

    `undone` measures what is left of the task (0: all done), `at_least` is a lower bound on the
    steps still needed to bring it to 0; both see the places of the VMs in `scope`. At most
    `patience` states are opened; where that was not enough, the best seen comes back unproven.
    """
    seen = tuple(scope)
    reached = {board.key(movers): (0, 0)}
    queue: list[tuple[int, int, int, tuple[Step, ...]]] = [(0, 0, 0, ())]
    ticket = 0
    best = Found(steps=(), undone=undone(board.places(seen)), proven=True)
    best_cost = (best.undone, 0, 0)
    while queue:
        _, weight, _, path = heapq.heappop(queue)
        here = board.after(path)
        if reached[here.key(movers)] < (len(path), weight):
            continue
        places = here.places(seen)
        left = undone(places)
        if (left, len(path), weight) < best_cost:
            best_cost = (left, len(path), weight)
            best = Found(steps=path, undone=left, proven=True)
        if left == 0:
            return best
        if patience <= 0:
            return Found(steps=best.steps, undone=best.undone, proven=False)
        patience -= 1
        for vm in movers:
            cost = (len(path) + 1, weight + board.facts.memory(vm))
            for step in offers(here, vm):
                key = here.key_after(movers, step)
                if key in reached and reached[key] <= cost:
                    continue
                reached[key] = cost
                ticket += 1
                floor = cost[0] + at_least({**places, vm: frozenset({step.node})})
                heapq.heappush(queue, (floor, cost[1], ticket, (*path, step)))
    return best


def reachable(
    board: Board, movers: Sequence[NamespacedName], offers: Offers, patience: int
) -> Iterator[tuple[Step, ...]]:
    """Every state that the movers can bring about, by its shortest path, nearest first.

    Ends after `patience` states.
    """
    seen = {board.key(movers)}
    queue: deque[tuple[Step, ...]] = deque([()])
    while queue and patience > 0:
        patience -= 1
        path = queue.popleft()
        yield path
        here = board.after(path)
        for vm in movers:
            for step in offers(here, vm):
                key = here.key_after(movers, step)
                if key not in seen:
                    seen.add(key)
                    queue.append((*path, step))
