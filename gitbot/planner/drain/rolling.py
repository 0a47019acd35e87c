"""Rolling maintenance: each node of a window once, into nodes that are back already.

A node begins as soon as slots are idle and the nodes that are back have room for all of its VMs.
The VMs of the first nodes can only go to nodes that are emptied later, so they move twice. To save
time, at most one more VM in twenty moves twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.model.cluster.columns import Mask
from gitbot.model.plan.problem import EmptyNodes
from gitbot.planner.holds import not_home
from gitbot.planner.plan_types import Step, TargetPolicy, Task
from gitbot.planner.search.greedy import solve
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import residents

TWICE = 20
"""One of so many VMs may move twice to save time."""

TRIED = 12
"""Nodes that are tried at one instant, the one with the fewest VMs first."""

FAILED = 40
"""So many nodes for which room cannot be made end the search for more."""

TINY = 100
"""VMs times nodes up to which a node for which room cannot be made is searched for exactly."""

Group = tuple[str, tuple[Step, ...]]


def rolling(
    board: PlanState,
    goal: EmptyNodes,
    free: Mapping[str, Sequence[NamespacedName]],
    wish: TargetPolicy,
    others: Callable[[NamespacedName], bool],
) -> tuple[Group, ...]:
    """The nodes that can be emptied, in the order in which they begin, each with its steps.

    `free` are the VMs that have to leave each node, `wish` closes what no VM of them may use.
    `others`: whether a VM may step aside; none does while that empties any node.
    """
    best: _RollingSimulation | None = None
    for order in [list(free)] if goal.ordered else _orders(board, free):
        shift = _RollingSimulation(board, goal, free, wish, order)
        with board.trial():
            shift.run()
        if best is None or shift.cost() < best.cost():
            best = shift
    assert best is not None
    if best.todo:
        best.make_room(others)
    return tuple(best.groups)


def _orders(board: PlanState, free: Mapping[str, Sequence[NamespacedName]]) -> Iterator[list[str]]:
    """The fewest VMs first, so that few move twice; as they are named; the most memory first."""
    size = {node: sum(map(board.memory, vms)) for node, vms in free.items()}
    yield sorted(free, key=lambda node: (len(free[node]), size[node]))
    yield list(free)
    yield sorted(free, key=lambda node: -size[node])


@dataclass(slots=True, kw_only=True)
class _Draining:
    node: str
    waiting: list[Step]
    flying: int = 0


@dataclass(order=True, slots=True)
class _Event:
    """A move ends, or a node is back (`step` is None)."""

    time: int
    number: int
    group: _Draining = field(compare=False)
    step: Step | None = field(compare=False, default=None)


class _RollingSimulation:
    def __init__(
        self,
        board: PlanState,
        goal: EmptyNodes,
        free: Mapping[str, Sequence[NamespacedName]],
        wish: TargetPolicy,
        order: list[str],
    ) -> None:
        self.board, self.goal, self.wish = board, goal, wish
        self.limits = board.facts.problem.limits
        self.todo = order
        self.budget = sum(map(len, free.values())) // TWICE
        self.twice: set[NamespacedName] = set()
        self.groups: list[Group] = []
        self.draining: list[_Draining] = []
        self.away = 0
        self.sources: Counter[str] = Counter()
        self.targets: Counter[str] = Counter()
        self.flying = 0
        self.now = 0
        self.events: list[_Event] = []
        self.tickets = count()
        self.seen = (-1, -1)
        there = {vm for node in free for vm in residents(board, node)}
        self.fixed = there.difference(*free.values())
        self.done: Mask = np.array([name not in set(goal.nodes) for name in board.nodes])
        self.open: Mask = np.array([name in free or name not in goal.nodes for name in board.nodes])

    def run(self) -> None:
        """Empty nodes until no more can begin.

        Each round begins a node of `todo` or lets an event happen. A node begins once, and has one
        event for each of its steps and one for its return.
        """
        while True:
            self._start_moves()
            busy = len(self.draining) + self.away
            idle = self.flying < self.limits.slots and busy < self.goal.max_nodes_at_once
            if idle and self._begin():
                continue
            if self.events:
                self._advance()
            elif not self._begin(force=True):
                return

    def make_room(self, others: Callable[[NamespacedName], bool]) -> None:
        """Empty more nodes: VMs step aside, on nodes that are back or, if need be, on others.

        No VM moves more than twice: one that goes to a node drained later has not moved before.
        """
        known = [step for _, steps in self.groups for step in steps]
        moved = Counter(step.vm for step in known)
        failed = 0
        with self.board.trial(known):
            for wide, exact in ((False, False), (True, False), (False, self._tiny)):
                for node in list(self.todo):
                    if failed == FAILED or self.board.onlooker.stopped():
                        return
                    steps = self._aside(node, others, moved, wide=wide, exact=exact)
                    more = Counter(step.vm for step in steps)
                    if not steps or any(moved[vm] + times > 2 - wide for vm, times in more.items()):
                        failed += 1
                        continue
                    moved.update(more)
                    self.board.advance(steps)
                    self._commit(node, steps, set())
                    self._return(node)
                    if wide:
                        break

    def _aside(
        self,
        node: str,
        others: Callable[[NamespacedName], bool],
        moved: Mapping[NamespacedName, int],
        *,
        wide: bool,
        exact: bool,
    ) -> tuple[Step, ...]:
        """The steps that empty the node; none if there are no such. Nobody leaves a node again."""
        board = self.board
        served = {name for name, _ in self.groups}
        vms = [vm for vm in residents(board, node) if vm not in self.fixed]
        ok = self.done | self.open if wide else self.done
        shut = {name: "not back" for name, fine in zip(board.nodes, ok, strict=True) if not fine}
        wish = replace(self.wish, closed={**shut, node: "is emptied", **self.wish.closed})
        wishes = {vm: not_home(board, self.goal, vm, wish) for vm in vms}
        task = Task(
            content={vm: board.open_nodes(mine.closed) for vm, mine in wishes.items()},
            wishes=wishes,
            aside=wish,
            others=lambda vm: (
                others(vm) and moved.get(vm, 0) < 2 - wide and board.place(vm) not in served
            ),
        )
        solved = solve(board, task, tight=True) if wide or self._fits(node) else None
        if solved is not None and solved.left and exact:
            solved = solve(board, task)
        if solved is None or solved.left or any(step.source in served for step in solved.steps):
            return ()
        return solved.steps

    @property
    def _tiny(self) -> bool:
        return len(self.board.occupancy) * len(self.board.nodes) <= TINY

    def cost(self) -> tuple[int, int, int]:
        """Nodes that are not emptied; then moves or, if nodes may go together, time."""
        moves = sum(len(steps) for _, steps in self.groups)
        first = moves if self.goal.max_nodes_at_once == 1 else self.now
        return len(self.todo), first, self.now

    def _start_moves(self) -> None:
        for group in self.draining:
            if not group.waiting or self.sources[group.node] >= self.limits.per_source_node:
                continue
            for step in list(group.waiting):
                if self.flying >= self.limits.slots:
                    return
                if self._crowded(step):
                    continue
                group.waiting.remove(step)
                group.flying += 1
                self._count(step, 1)
                seconds = self.board.facts.copy(step.vm).seconds
                self._later(seconds, group, step)

    def _crowded(self, step: Step) -> bool:
        limits = self.limits
        return (
            self.sources[step.source] >= limits.per_source_node
            or self.targets[step.node] >= limits.per_target_node
        )

    def _count(self, step: Step, sign: int) -> None:
        self.flying += sign
        self.sources[step.source] += sign
        self.targets[step.node] += sign

    def _later(self, seconds: int, group: _Draining, step: Step | None = None) -> None:
        heappush(self.events, _Event(self.now + seconds, next(self.tickets), group, step))

    def _advance(self) -> None:
        self.now = self.events[0].time
        while self.events and self.events[0].time <= self.now:
            event = heappop(self.events)
            if event.step is None:
                self._return(event.group.node)
                continue
            event.group.flying -= 1
            self._count(event.step, -1)
            if not event.group.flying and not event.group.waiting:
                self._leave(event.group)

    def _leave(self, group: _Draining) -> None:
        self.draining.remove(group)
        self.away += 1
        self._later(self.goal.away or 0, group)

    def _return(self, node: str) -> None:
        self.away -= 1
        found = self.board.facts.nodes[node]
        if not at(found, "spec", "unschedulable"):
            self.done[self.board.number[node]] = True

    def _begin(self, *, force: bool = False) -> bool:
        """Begin one more node if its VMs have a place to go; return whether one began."""
        state = (int(self.done.sum()), len(self.groups))
        if not self.todo or (state == self.seen and not force):
            return False
        self.seen = state
        tried = self.todo[: 1 if self.goal.ordered else TRIED]
        for node in tried:
            if self._fits(node) and self._empty(node, [self.done]):
                return True
        left = self.budget - len(self.twice)
        for node in tried if force else tried[:1] if left > 0 else ():
            if self._empty(node, [self.done, self.open], most=None if force else left):
                return True
        return False

    def _fits(self, node: str) -> bool:
        """Whether the nodes that are back have enough bytes, apart from the VMs' other demands."""
        asked = sum(self.board.asks(vm).get("memory", 0) for vm in residents(self.board, node))
        return asked <= int(self.board.room("memory")[self.done].clip(0).sum())

    def _empty(self, node: str, masks: Sequence[Mask], most: int | None = None) -> bool:
        """Plan a node's moves if all of its VMs find a place and few enough move twice."""
        board = self.board
        mark = board.mark()
        steps: list[Step] = []
        twice: set[NamespacedName] = set()
        for vm in sorted(residents(board, node), key=lambda vm: (-board.memory(vm), vm)):
            if vm in self.fixed:
                continue
            step = self._step(vm, node, masks if vm not in self.twice else masks[:1])
            if step is None:
                break
            if not self.done[board.number[step.node]]:
                twice.add(vm)
            steps.append(step)
            board.take(step)
        else:
            if most is None or len(twice) <= most:
                self._commit(node, steps, twice)
                return True
        board.back(mark)
        return False

    def _step(self, vm: NamespacedName, node: str, masks: Sequence[Mask]) -> Step | None:
        """To the fullest node of the first mask that takes it."""
        ok = self.board.feasible(vm, not_home(self.board, self.goal, vm, self.wish))
        ok[self.board.number[node]] = False
        room = self.board.room("memory")
        for mask in masks:
            numbers = np.flatnonzero(ok & mask)
            if len(numbers):
                target = self.board.nodes[numbers[room[numbers].argmin()]]
                return self.board.step(vm, target, self.wish)
        return None

    def _commit(self, node: str, steps: Sequence[Step], twice: set[NamespacedName]) -> None:
        self.twice |= twice
        self.todo.remove(node)
        self.open[self.board.number[node]] = False
        self.groups.append((node, tuple(steps)))
        self.board.onlooker.planned(sum(len(moves) for _, moves in self.groups))
        group = _Draining(node=node, waiting=list(steps))
        self.draining.append(group)
        if not steps:
            self._leave(group)
