"""Scarce room, exactly: an end state from the solver, then an order of moves that leads to it.

The solver looks at end states of some nodes, the neighbourhood: who is where, so that everybody
fits and ZoneAntiAffinity holds. Everything else that a VM asks for decides which nodes it is
offered. Each move is then taken on the board, where it must be lawful; a VM in the way waits on
another node. What has no such order is given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np

from gitbot.constraints.zone_anti_affinity import ZoneAntiAffinity
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.columns import Mask
from gitbot.model.problem import Pin
from gitbot.planner import solver
from gitbot.planner.board import Board
from gitbot.planner.bounds import must_step_aside
from gitbot.planner.chains import held_on, mask_of
from gitbot.planner.step import Step, Task, Wish

OPTIONS = 3_000
"""VMs times nodes of a neighbourhood, at most."""

NEIGHBOURHOODS = 3
PARKED = 4
"""VMs that wait elsewhere, at most."""

_MOVE, _MEMORY = 100_000, 100
"""What a move costs, and the memory of the largest VM that has to move."""

Ends = Mapping[NamespacedName, str]


def reassigned(board: Board, task: Task, known: int) -> Iterator[tuple[Step, ...]]:
    """Other ways to do the task, for one neighbourhood after the other, if the problem says so.

    None if no way has fewer steps than the `known` one, 0 for none, by counting.
    """
    asked = [vm for vm, nodes in sorted(task.content.items()) if board.place(vm) not in nodes]
    pinned = all(wish.pin is Pin.NODE for wish in task.wishes.values())
    if not asked or task.aside is None or not pinned or not board.facts.problem.solver:
        return
    if 0 < known <= len(asked) + must_step_aside(board, asked, task.aside):
        return
    for nodes in _neighbourhoods(board, asked):
        if board.onlooker.stopped():
            return
        model = _Model(board=board, task=task, nodes=nodes)
        ends = model.solve()
        steps = _ordered(board, task, ends) if ends else None
        if steps is not None:
            yield steps


def _neighbourhoods(board: Board, asked: Sequence[NamespacedName]) -> Iterator[tuple[str, ...]]:
    """The nodes that are left, and those with most room, as many as OPTIONS allow; then others."""
    left = sorted({board.place(vm) for vm in asked})
    room = board.room("memory")
    rest = [name for name in board.nodes if name not in left]
    rest.sort(key=lambda name: (-int(room[board.number[name]]), name))
    for _ in range(NEIGHBOURHOODS):
        nodes, vms = list(left), sum(len(board.on(name)) for name in left)
        for name in rest:
            vms += len(board.on(name))
            if vms * (len(nodes) + 1) > OPTIONS:
                break
            nodes.append(name)
        yield tuple(nodes)
        rest = [name for name in rest if name not in nodes]
        if not rest:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The options: a VM on a node where it is or may go, if others leave room."""

    board: Board
    task: Task
    nodes: tuple[str, ...]
    options: list[tuple[NamespacedName, str]] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)

    def solve(self) -> Ends | None:
        """Where each VM is in the end; None if nothing was found."""
        choices = [self._choices(vm) for vm in self._movers()]
        limits = [*self._room(), *self._apart()]
        made = solver.Assignment(costs=self.costs, choices=choices, limits=limits)
        found = solver.cheapest(made)
        return None if found is None else dict(self.options[number] for number in found)

    def _movers(self) -> list[NamespacedName]:
        task = self.task
        found = {vm for name in self.nodes for vm in self.board.on(name)}
        return [vm for vm in sorted(found) if vm in task.content or task.others(vm)]

    def _choices(self, vm: NamespacedName) -> list[int]:
        board, here = self.board, self.board.place(vm)
        content = self.task.content.get(vm)
        mask = board.but_for_room(vm, _wish(self.task, vm)) & mask_of(board, self.nodes)
        if content is not None:
            mask &= mask_of(board, content)
        first = len(self.options)
        memory = board.memory(vm) * _MEMORY // max(1, self._largest())
        if content is None or here in content:
            self.options.append((vm, here))
            self.costs.append(0)
        for number in np.flatnonzero(mask):
            self.options.append((vm, board.nodes[number]))
            self.costs.append(_MOVE + memory)
        return list(range(first, len(self.options)))

    def _largest(self) -> int:
        return max((self.board.memory(vm) for vm in self.task.content), default=1)

    def _room(self) -> Iterator[solver.Limit]:
        """What a node has free, and what those who may leave it hold."""
        board = self.board
        asks = {vm: board.asks(vm) for vm, _ in self.options}
        by_node: dict[str, list[int]] = {}
        for number, (_, node) in enumerate(self.options):
            by_node.setdefault(node, []).append(number)
        for node, numbers in sorted(by_node.items()):
            held = held_on(board, node)
            for resource in sorted({name for n in numbers for name in asks[self.options[n][0]]}):
                amounts = []
                most = int(board.room(resource)[board.number[node]])
                for vm in (self.options[number][0] for number in numbers):
                    stays = vm in held
                    amount = (held if stays else asks)[vm].get(resource, 0)
                    most += amount if stays else 0
                    amounts.append(amount)
                if sum(amounts) > most:
                    yield _limit(numbers, amounts, most)

    def _apart(self) -> Iterator[solver.Limit]:
        """No more VMs of a rule in a domain than now, or than it allows."""
        board = self.board
        of_vm: dict[NamespacedName, list[int]] = {}
        for number, (vm, _) in enumerate(self.options):
            of_vm.setdefault(vm, []).append(number)
        for rule in board.facts.rules:
            movers = sorted(of_vm.keys() & rule.members)
            if not isinstance(rule, ZoneAntiAffinity) or not rule.required or len(movers) < 2:
                continue
            column = rule.domains.column(rule.topology_key)
            held: dict[str, int] = {}
            fixed: dict[str, int] = {}
            for vm in rule.members:
                domain = column.get(board.place(vm), "")
                held[domain] = held.get(domain, 0) + 1
                fixed[domain] = fixed.get(domain, 0) + (vm not in of_vm)
            coming: dict[str, list[int]] = {}
            for number in (number for vm in movers for number in of_vm[vm]):
                coming.setdefault(column.get(self.options[number][1], ""), []).append(number)
            for domain, numbers in sorted(coming.items()):
                most = max(rule.max_per_domain, held.get(domain, 0)) - fixed.get(domain, 0)
                yield _limit(numbers, [1] * len(numbers), most)


def _limit(numbers: Sequence[int], amounts: Sequence[int], most: int) -> solver.Limit:
    """In the largest common unit, or one that keeps amounts small; never looser than it is."""
    unit = max(1, gcd(*amounts), max(amounts) // 10_000)
    rounded = [-(-amount // unit) for amount in amounts]
    return solver.Limit(options=numbers, amounts=rounded, most=max(0, most // unit))


def _wish(task: Task, vm: NamespacedName) -> Wish:
    assert task.aside is not None
    return task.wishes.get(vm, task.aside)


def _ordered(board: Board, task: Task, ends: Ends) -> tuple[Step, ...] | None:
    """Steps to these ends, each lawful when it is taken; None if no order was found."""
    waiting = [vm for vm, node in sorted(ends.items()) if board.place(vm) != node]
    found: list[Step] = []
    parked: set[NamespacedName] = set()
    with board.trial():
        while waiting:
            steps = (board.step(vm, ends[vm], _wish(task, vm)) for vm in waiting)
            step = next((each for each in steps if board.takes(each)), None)
            if step is None:
                step = _parking(board, task, [vm for vm in waiting if vm not in parked])
                if step is None or len(parked) == PARKED:
                    return None
                parked.add(step.vm)
            else:
                waiting.remove(step.vm)
            board.take(step)
            found.append(step)
    return tuple(found)


def _parking(board: Board, task: Task, vms: Sequence[NamespacedName]) -> Step | None:
    """The smallest of the VMs goes to the node with the least room that takes it."""
    assert task.aside is not None
    for vm in sorted(vms, key=lambda vm: (board.memory(vm), vm)):
        fits: Mask = board.feasible(vm, task.aside)
        if fits.any():
            numbers = np.flatnonzero(fits)
            tightest = numbers[np.argmin(board.room("memory")[numbers])]
            return board.step(vm, board.nodes[tightest], task.aside)
    return None
