"""Exact search: the shortest lawful sequence of steps, or a proof that none is better.

A* over the places of the VMs that may move (Hart, Nilsson, Raphael 1968). Real steps on the board
lead to each state, so the search assumes nothing about the constraints' answers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.constraint import Occupancy
from gitbot.planner.board import Board
from gitbot.planner.step import Step

Offers = Callable[[Board, NamespacedName], Iterable[Step]]
Measure = Callable[[Occupancy], int]
Cost = tuple[int, int, int]
"""What stays undone, steps, bytes moved. Less is better."""

Path = tuple[tuple[Step, ...], ...]
"""The steps of each leg that has begun."""

WORST: Cost = (1 << 62, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """A part of the search. `undone` measures what is left of it (0: nothing).

    `at_least` is a lower bound on the steps that bring it to 0. A `whole` leg is done completely or
    not begun; a leg that is not begun counts as one undone thing.
    """

    offers: Offers
    undone: Measure
    at_least: Measure
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best sequence seen, by leg (None: none is below the limit); whether it is proven best."""

    path: Path | None
    proven: bool


@dataclass(order=True, slots=True)
class _Way:
    """One way to a state. Ways are tried in their sort order."""

    least: int  # what stays undone at least
    floor: int  # steps taken, and at least still needed
    weight: int
    ticket: int
    undone: int = field(compare=False)  # what its legs have left undone
    path: Path = field(compare=False)
    ended: bool = field(compare=False)


def shortest(
    board: Board,
    movers: Sequence[NamespacedName],
    legs: Sequence[Leg],
    *,
    scope: Iterable[NamespacedName],
    patience: int,
    below: Cost = WORST,
    left: int = 0,
) -> Found:
    """The sequence of least cost, if that is below `below`. Ties go to the offers' order.

    The measures see the places of the VMs in `scope`. Every sequence leaves at least `left` undone.
    Opens at most `patience` states; after that, returns the best sequence seen, unproven.
    """
    search = _Search(board, movers, legs, tuple(scope), below=below, left=left)
    return search.run(patience)


class _Search:
    def __init__(
        self,
        board: Board,
        movers: Sequence[NamespacedName],
        legs: Sequence[Leg],
        scope: tuple[NamespacedName, ...],
        *,
        below: Cost,
        left: int,
    ) -> None:
        self.board = board
        self.movers = movers
        self.legs = legs
        self.scope = scope
        self.below = below
        self.left = left
        self.reached: dict[object, Cost] = {}
        self.queue: list[_Way] = []
        self.tickets = count()

    def run(self, patience: int) -> Found:
        self._enter((), (0, 0, 0), self.board.places(self.scope))
        while self.queue:
            way = heapq.heappop(self.queue)
            if way.ended:
                return Found(path=way.path, proven=True)
            if patience <= 0:
                ends = [item for item in self.queue if item.ended]
                return Found(path=min(ends).path if ends else None, proven=False)
            patience -= 1
            with self.board.trial(step for steps in way.path for step in steps):
                self._open(way)
        return Found(path=None, proven=True)

    def _open(self, way: _Way) -> None:
        steps = way.path[-1]
        cost = (way.undone, sum(map(len, way.path)), way.weight)
        key = (len(way.path), not steps, self.board.key(self.movers))
        if self.reached[key] < cost:
            return
        leg = self.legs[len(way.path) - 1]
        places = self.board.places(self.scope)
        undone = leg.undone(places)
        if not undone or not steps or not leg.whole:
            lost = min(undone, 1) if leg.whole else undone
            self._enter(way.path, (cost[0] + lost, *cost[1:]), places)
        if undone or len(way.path) < len(self.legs):
            self._move(way.path, cost, leg, places)

    def _enter(self, path: Path, cost: Cost, places: Occupancy) -> None:
        """Begin the next leg, or end the search."""
        if len(path) == len(self.legs):
            self._push(path, cost, cost[1], ended=True)
        elif self._new((len(path) + 1, True, self.board.key(self.movers)), cost):
            self._push((*path, ()), cost, cost[1] + self._least(len(path), places, cost[0]))

    def _move(self, path: Path, cost: Cost, leg: Leg, places: Occupancy) -> None:
        now = self.board.key(self.movers)
        for place, vm in enumerate(self.movers):
            after = (cost[0], cost[1] + 1, cost[2] + self.board.memory(vm))
            for step in leg.offers(self.board, vm):
                key = (len(path), False, (*now[:place], step.node, *now[place + 1 :]))
                if self._new(key, after):
                    there = {**places, vm: frozenset({step.node})} if vm in places else places
                    floor = after[1] + self._least(len(path) - 1, there, after[0])
                    self._push((*path[:-1], (*path[-1], step)), after, floor)

    def _new(self, key: object, cost: Cost) -> bool:
        if key in self.reached and self.reached[key] <= cost:
            return False
        self.reached[key] = cost
        return True

    def _least(self, number: int, places: Occupancy, undone: int) -> int:
        """The steps that the legs from this number on need, beside what stays undone anyway."""
        spare = max(0, self.left - undone)
        needs = sorted(leg.at_least(places) for leg in self.legs[number:])
        if any(leg.whole for leg in self.legs):
            return sum(needs[: len(needs) - spare])
        return max(0, sum(needs) - spare)

    def _push(self, path: Path, cost: Cost, floor: int, *, ended: bool = False) -> None:
        least = max(cost[0], self.left)
        if (least, floor, cost[2]) < self.below:
            way = _Way(least, floor, cost[2], next(self.tickets), cost[0], path, ended)
            heapq.heappush(self.queue, way)
