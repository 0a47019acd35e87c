"""Exact search: the shortest lawful sequence of steps, or a proof that none is better.

A* over the places of the movable VMs (Hart, Nilsson, Raphael 1968). Real steps on the plan state
lead to each state, so the search assumes nothing about the constraints' answers. These are slow: it
asks only about nodes with room (`reachability`) that lead to a new state within the limit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Occupancy, after_move
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step
from gitbot.planner.search.move_cache import KnownMoves, bits, parts_of
from gitbot.planner.search.reachability import Offer, Openings, State
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.undo_path import UndoPath

Measure = Callable[[Occupancy], int]
Cost = tuple[int, int, int]
"""What stays undone, steps, bytes moved. Less is better."""

Path = tuple[tuple[Step, ...], ...]
"""The steps of each leg that has started."""

WORST: Cost = (1 << 62, 0, 0)

QUESTIONS = 75_000
"""Approximate evaluation budget of one search; deterministic across machines."""

COST_OF_UNKNOWN = 10
"""An answer that is not cached costs so many units of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPhase:
    """A part of the search. `offers` are where a VM may go; `undone` measures its remaining work.

    `at_least` is a lower bound on the steps that bring it to 0. A `whole` leg is done completely or
    not started; a leg that is not started counts as one undone thing.
    """

    offers: Callable[[NamespacedName], Sequence[Offer]]
    undone: Measure
    at_least: Measure
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best sequence seen, by leg (None: none below the limit); whether it is proven best."""

    path: Path | None
    proven: bool
    cost: Cost = WORST


_Choice = tuple[int, int, frozenset[int]]
"""A mover, an offer and the nodes to which it may go, by number. Not ranked yet."""


_Reach = tuple[State, int, int]
"""A state to which a step may lead, the least steps by way of it, and its key."""


@dataclass(order=True, slots=True)
class _SearchNode:
    """One way to a state. The queue sorts by fields, so `ticket` makes it deterministic."""

    least: int  # lower bound of what stays undone
    floor: int  # steps so far, and a lower bound of those still needed
    weight: int
    ticket: int
    undone: int = field(compare=False)  # what its legs have left undone so far
    path: Path = field(compare=False)
    state: State = field(compare=False)
    ended: bool = field(compare=False)
    choice: _Choice | None = field(compare=False)  # one more step, not ranked yet

    def steps(self) -> list[Step]:
        return [step for steps in self.path for step in steps]

    def found(self, *, proven: bool) -> Found:
        return Found(path=self.path, proven=proven, cost=(self.least, self.floor, self.weight))


def shortest(
    board: PlanState,
    movers: Sequence[NamespacedName],
    legs: Sequence[SearchPhase],
    *,
    scope: Iterable[NamespacedName],
    below: Cost = WORST,
    left: int = 0,
) -> Found:
    """The sequence of least cost, if that is below `below`. Ties are broken by the offers' order.

    The measures see the places of the VMs in `scope`. Every sequence leaves at least `left` undone.
    After QUESTIONS evaluations, or at the end of the plan's budget, it returns the best sequence
    seen, unproven.
    """
    with board.trial():
        search = _Search(board, movers, legs, tuple(scope), below=below, left=left)
        found = search.run()
    budget = board.facts.budget
    budget.exact += search.asked
    budget.asked += search.asked
    budget.cut |= not found.proven
    return found


class _Search:
    def __init__(
        self,
        board: PlanState,
        movers: Sequence[NamespacedName],
        legs: Sequence[SearchPhase],
        scope: tuple[NamespacedName, ...],
        *,
        below: Cost,
        left: int,
    ) -> None:
        self.board = board
        self.movers = movers
        self.legs = legs
        self.below = below
        self.left = left
        self.whole = any(leg.whole for leg in legs)
        self.reached: dict[int, Cost] = {}
        self.queue: list[_SearchNode] = []
        self.tickets = 0
        self.asked = 0
        self.limit = min(QUESTIONS, board.facts.budget.most - board.facts.budget.exact)
        self.trail = UndoPath(board)
        self.openings = Openings(board, movers)
        self.memory = [board.memory(vm) for vm in movers]
        self.home = board.places(scope)
        self.codes = {node: number for number, node in enumerate(board.nodes)}
        for node in self.openings.start:
            self.codes.setdefault(node, len(self.codes))
        self.weights: list[int] = [
            2 * len(legs) * len(self.codes) ** place for place in range(len(movers))
        ]
        self.inside = [place for place, vm in enumerate(movers) if vm in self.home]
        self.moves = KnownMoves(board, movers, self.openings)
        self.pinned = all(  # otherwise the scheduler may choose the node
            wish.pin is Pin.NODE for leg in legs for vm in movers for wish, _ in leg.offers(vm)
        )
        self.measured: dict[object, int] = {}
        self.measured_part = parts_of(self.inside)
        self._offers = cache(lambda leg, place: self.legs[leg].offers(self.movers[place]))
        self.reach = cache(lambda leg, place: self.openings.reach(place, self._offers(leg, place)))
        self.open = cache(self._open_to)

    def run(self) -> Found:
        """Open ways until one ends, none is left, or all that may be asked is asked.

        `asked` grows with each way that is opened, and an opened way adds finitely many to the
        queue: at most one for each mover, offer and node, and once more when its choice is ranked.
        """
        self._enter((), (0, 0, 0), self.openings.start)
        while self.queue:
            way = heapq.heappop(self.queue)
            if way.ended:
                return way.found(proven=True)
            if self.asked >= self.limit or self.board.onlooker.stopped():
                ends = [item for item in self.queue if item.ended]
                return min(ends).found(proven=False) if ends else Found(path=None, proven=False)
            if way.choice is not None:
                self._rank(way, way.choice)
            else:
                self._open(way)
        return Found(path=None, proven=True)

    def _open(self, way: _SearchNode) -> None:
        steps = way.path[-1]
        cost = (way.undone, sum(map(len, way.path)), way.weight)
        self.asked += 1
        number = len(way.path) - 1
        if self.reached[self._key(number, way.state, begins=not steps)] < cost:
            return
        undone, whole = self.undone(number, way.state), self.legs[number].whole
        if not undone or not steps or not whole:
            lost = min(undone, 1) if whole else undone
            self._enter(way.path, (cost[0] + lost, *cost[1:]), way.state)
        if undone or len(way.path) < len(self.legs):
            self._move(way, cost, number)

    def _enter(self, path: Path, cost: Cost, state: State) -> None:
        """Start the next leg, or end the search."""
        number = len(path)
        if number == len(self.legs):
            self._push(path, state, cost, cost[1], ended=True)
        elif self._new(key := self._key(number, state, begins=True), cost):
            self.reached[key] = cost
            floor = cost[1] + self._least(number, state, cost[0])
            self._push((*path, ()), state, cost, floor)

    def _move(self, way: _SearchNode, cost: Cost, number: int) -> None:
        room, here, numbers = self.openings.room(way.state), way.state, self.board.number
        nodes, reached, start = self.board.nodes, self.reached.get, self._key(number, here)
        for place, memory in enumerate(self.memory):
            left = room(place) & self.reach(number, place)
            if here[place] in numbers:
                left &= ~(1 << numbers[here[place]])
            if not left:
                continue
            after = (cost[0], cost[1] + 1, cost[2] + memory)
            found: dict[int, _Reach] = {}
            weight = self.weights[place]
            gone = start - weight * self.codes[here[place]]
            while left:
                index = (left & -left).bit_length() - 1
                left &= left - 1
                known = reached(key := gone + weight * index)
                if known is None or known > after:
                    self.asked += 1
                    state = (*here[:place], nodes[index], *here[place + 1 :])
                    floor = after[1] + self._least(number, state, after[0])
                    if self._within(after, floor):
                        found[index] = state, floor, key
            if found:
                self._step(way, after, place, found)

    def _step(self, way: _SearchNode, after: Cost, place: int, found: Mapping[int, _Reach]) -> None:
        """Take the lawful moves of one mover among `found`, which has states by node number."""
        leg = len(way.path) - 1
        asked = sum([1 << node for node in found])
        for offer in range(len(self._offers(leg, place))):
            nodes = self.open(leg, place, offer) & asked
            if nodes and self.pinned:
                lawful = self._lawful(way, place, offer, nodes)
                chosen = {node: each for node, each in found.items() if lawful >> node & 1}
                self._choose(way, after, place, offer, chosen)
            elif nodes:
                wish, but = self._offers(leg, place)[offer]
                self._go(way)
                for step in self.board.steps(self.movers[place], wish):
                    reach = found.get(self.board.number[step.node])
                    if step.node not in but and reach is not None and self._new(reach[2], after):
                        state, floor, key = reach
                        self.reached[key] = after
                        self._push(_longer(way.path, step), state, after, floor)

    def _lawful(self, way: _SearchNode, place: int, offer: int, nodes: int) -> int:
        """The nodes to which a mover may go; asks the constraints only about uncached ones."""
        if self.moves.tells(place):
            return self.moves.where(place, nodes, way.state, lambda: self._go(way))
        self._go(way)
        wish, _ = self._offers(len(way.path) - 1, place)[offer]
        return nodes & bits(self.board.feasible(self.movers[place], wish))

    def _choose(
        self,
        way: _SearchNode,
        after: Cost,
        place: int,
        offer: int,
        found: Mapping[int, _Reach],
    ) -> None:
        """Queue these nodes as one entry: they are ranked only if the search gets to them."""
        by_floor: dict[int, list[int]] = {}
        for node, (_, floor, key) in found.items():
            if self._new(key, after):
                self.reached[key] = after
                by_floor.setdefault(floor, []).append(node)
        for floor, nodes in by_floor.items():
            self._push(way.path, way.state, after, floor, choice=(place, offer, frozenset(nodes)))

    def _rank(self, way: _SearchNode, choice: _Choice) -> None:
        """Replace a choice by one way for each of its nodes, best first, at its place."""
        place, offer, nodes = choice
        vm, (wish, _) = self.movers[place], self._offers(len(way.path) - 1, place)[offer]
        if len(nodes) == 1:
            step = self.board.step(vm, self.board.nodes[min(nodes)], wish)
            steps = iter((replace(step, source=way.state[place]),))
        else:
            self._go(way)
            steps = self.board.steps(vm, wish, nodes)
        for rank, step in enumerate(steps):
            state = (*way.state[:place], step.node, *way.state[place + 1 :])
            path, ticket = _longer(way.path, step), way.ticket + rank
            ranked = replace(way, ticket=ticket, path=path, state=state, choice=None)
            heapq.heappush(self.queue, ranked)

    def _go(self, way: _SearchNode) -> None:
        self.asked += COST_OF_UNKNOWN
        self.trail.go(way.steps())

    def _open_to(self, leg: int, place: int, offer: int) -> int:
        return self.openings.reach(place, self._offers(leg, place)[offer : offer + 1])

    def _key(self, number: int, state: State, *, begins: bool = False) -> int:
        """A state in a leg, or at its beginning, as one number: `_move` makes millions."""
        places = zip(self.weights, state, strict=True)
        return 2 * number + begins + sum([weight * self.codes[node] for weight, node in places])

    def _new(self, key: int, cost: Cost) -> bool:
        return key not in self.reached or self.reached[key] > cost

    def undone(self, number: int, state: State) -> int:
        return self._measured(self.legs[number].undone, state)

    def at_least(self, number: int, state: State) -> int:
        return self._measured(self.legs[number].at_least, state)

    def _measured(self, measure: Measure, state: State) -> int:
        key = measure, self.measured_part(state)
        found = self.measured.get(key)
        if found is None:
            self.asked += COST_OF_UNKNOWN
            found = self.measured[key] = measure(self._places(state))
        return found

    def _places(self, state: State) -> Occupancy:
        found = dict(self.home)
        for place in self.inside:
            vm, start, node = self.movers[place], self.openings.start[place], state[place]
            if node != start:
                found[vm] = after_move(found[vm], start, node)
        return found

    def _least(self, number: int, state: State, undone: int) -> int:
        """Lower bound of the steps of the legs from this number on, spared ones excluded."""
        spare = max(0, self.left - undone)
        if number == len(self.legs) - 1 and not self.whole:
            return max(0, self.at_least(number, state) - spare)
        needs = sorted(self.at_least(leg, state) for leg in range(number, len(self.legs)))
        if self.whole:
            return sum(needs[: len(needs) - spare])
        return max(0, sum(needs) - spare)

    def _within(self, cost: Cost, floor: int) -> bool:
        return (max(cost[0], self.left), floor, cost[2]) < self.below

    def _push(
        self,
        path: Path,
        state: State,
        cost: Cost,
        floor: int,
        *,
        ended: bool = False,
        choice: _Choice | None = None,
    ) -> None:
        if self._within(cost, floor):
            least, ticket = max(cost[0], self.left), self.tickets
            self.tickets += len(choice[2]) if choice is not None else 1
            way = _SearchNode(least, floor, cost[2], ticket, cost[0], path, state, ended, choice)
            heapq.heappush(self.queue, way)


def _longer(path: Path, step: Step) -> Path:
    return (*path[:-1], (*path[-1], step))
