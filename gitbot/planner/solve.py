"""Bring VMs to where they are content: first the quick way, then, where that is stuck, exactly.

The quick way moves each VM once, the most constrained first, and starts again with those that
were left over in front. Where every VM that had to move has moved once, no plan has fewer moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gitbot.model.constraint import Occupancy
from gitbot.model.names import NamespacedName
from gitbot.planner.board import Board
from gitbot.planner.search import shortest
from gitbot.planner.step import Step, Task

ROUNDS = 4
SMALL = 400
"""VMs times nodes up to which a task is searched completely, as far as ANSWERS goes."""

FEW, FEW_STATES = 4, 24
"""Beyond: steps of a VM that a search looks at in one state, and states that it opens."""

ANSWERS = 60_000
"""How many node answers an exact search may ask for; the same on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Steps in a lawful order, and the VMs that are not content after them, sorted."""

    steps: tuple[Step, ...]
    left: tuple[NamespacedName, ...]


def solve(board: Board, task: Task) -> Solved:
    """Make as many VMs of the task content as can be, with the fewest steps."""
    quick = _quick(board, task)
    movers = sorted(task.content)
    if all(board.hopeless(vm, task.wishes[vm], movers) for vm in quick.left):
        return quick
    answers = len(movers) * max(1, len(board.facts.nodes))
    small = answers <= SMALL
    found = shortest(
        board,
        movers,
        lambda here, vm: _offers(here, vm, task, most=None if small else FEW),
        scope=movers,
        undone=lambda places: len(_left(places, task)),
        at_least=lambda places: len(_left(places, task)),
        patience=ANSWERS // answers if small else FEW_STATES,
    )
    if (found.undone, *effort(board, found.steps)) < (len(quick.left), *effort(board, quick.steps)):
        after = board.after(found.steps).occupancy
        return Solved(steps=found.steps, left=_left(after, task))
    return quick


def effort(board: Board, steps: Sequence[Step]) -> tuple[int, int]:
    """How many steps, and how many bytes they move."""
    return len(steps), sum(board.facts.memory(step.vm) for step in steps)


def _left(occupancy: Occupancy, task: Task) -> tuple[NamespacedName, ...]:
    return tuple(
        vm for vm, nodes in sorted(task.content.items()) if not occupancy.get(vm, _NOWHERE) <= nodes
    )


_NOWHERE = frozenset({""})


def _offers(board: Board, vm: NamespacedName, task: Task, *, most: int | None) -> Iterator[Step]:
    """Steps to where the VM is content, then steps aside to make room for the others."""
    content = task.content[vm]
    settled = board.place(vm) in content
    for step in islice(board.steps(vm, task.wishes[vm]), most):
        yield replace(step, helper=settled)
    if task.aside is not None:
        for step in islice(board.steps(vm, task.aside), most):
            if step.node not in content:
                yield replace(step, helper=True)


def _quick(board: Board, task: Task) -> Solved:
    best: Solved | None = None
    order = _by_choice(board, task)
    shunned: dict[str, int] = {}
    for _ in range(ROUNDS):
        solved = _one_round(board, task, order, shunned)
        if best is None or len(solved.left) < len(best.left):
            best = solved
        if all(board.hopeless(vm, task.wishes[vm], task.content) for vm in solved.left):
            break
        for vm in solved.left:
            for node in _choices(board, vm, task):
                shunned[node] = shunned.get(node, 0) + 1
        order = [*solved.left, *(vm for vm in order if vm not in solved.left)]
    assert best is not None
    return best


def _by_choice(board: Board, task: Task) -> list[NamespacedName]:
    """VMs with the fewest choices first, then the largest, then by name."""
    facts = board.facts
    left = _left(board.occupancy, task)
    ranks = [(len(_choices(board, vm, task)), -facts.memory(vm), vm) for vm in left]
    return [vm for _, _, vm in sorted(ranks)]


def _choices(board: Board, vm: NamespacedName, task: Task) -> tuple[str, ...]:
    return board.choices(vm, task.wishes[vm])


def _one_round(
    board: Board, task: Task, order: Sequence[NamespacedName], shunned: dict[str, int]
) -> Solved:
    here = board.fork()
    steps: list[Step] = []
    waiting = list(order)
    progress = True
    while waiting and progress:
        progress = False
        for vm in list(waiting):
            step = _first(here.steps(vm, task.wishes[vm]), shunned)
            if step is not None:
                here.take(step)
                steps.append(step)
                waiting.remove(vm)
                progress = True
    return Solved(steps=tuple(steps), left=tuple(sorted(waiting)))


def _first(steps: Iterator[Step], shunned: dict[str, int]) -> Step | None:
    """The best step; where some nodes are needed by VMs with less choice, the least wanted."""
    if not shunned:
        return next(steps, None)
    return min(steps, key=lambda step: shunned.get(step.node, 0), default=None)
