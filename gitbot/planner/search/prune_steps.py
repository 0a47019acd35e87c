"""Steps that make room: which are needed, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Content, Step
from gitbot.planner.state.plan_state import PlanState

Undone = Callable[[PlanState], int]


def drop_needless_steps(
    board: PlanState, steps: Sequence[Step], asked: Container[NamespacedName], undone: Undone
) -> tuple[Step, ...]:
    """The steps that are needed: drops helpers, and the first of two steps of one VM.

    Tries to drop each step, the last one first. A step is dropped if the rest is still lawful and
    leaves no more undone.
    """
    kept = list(steps)
    with board.trial(steps):
        most = undone(board)
    for number in reversed(range(len(kept))):
        rest = [*kept[:number], *kept[number + 1 :]]
        vm = kept[number].vm
        if vm not in asked or any(step.vm == vm for step in kept[number + 1 :]):
            found = replay_steps(board, rest, undone, most)
            kept = kept if found is None else found
    return tuple(kept)


def replay_steps(
    board: PlanState, steps: Sequence[Step], undone: Undone, most: int
) -> list[Step] | None:
    """The same moves from the board as it is; None if one is not lawful, or too much is undone."""
    found: list[Step] = []
    with board.trial():
        for step in steps:
            if step.node == board.place(step.vm):
                continue
            again = _again(board, step)
            if again is None:
                return None
            board.take(again)
            found.append(again)
        return found if undone(board) <= most else None


def _again(board: PlanState, step: Step) -> Step | None:
    """The step from the board as it is; None if it is not lawful, or would land elsewhere."""
    if step.wish.pin is Pin.NODE:
        again = replace(step, source=board.place(step.vm))
        return again if board.takes(again) else None
    found = board.best(step.vm, step.wish)
    return found if found is not None and found.node == step.node else None


def attribute_steps(content: Content, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, each helper with the VM that it makes room for. `content`: as in a Task.

    That is the next VM to go to the node that the helper leaves, else the next to go where it is
    content.
    """
    found = list(steps)
    for number, step in enumerate(steps):
        if _settles(content, step) and not any(each.vm == step.vm for each in steps[number + 1 :]):
            continue
        later = [each for each in steps[number + 1 :] if each.vm != step.vm]
        there = [each.vm for each in later if each.node == step.source]
        asked = [each.vm for each in later if _settles(content, each)]
        again = [each.vm for each in steps[number + 1 :] if each.vm == step.vm]
        found[number] = replace(step, room_for=next(iter(there + asked + again), None))
    return tuple(found)


def _settles(content: Content, step: Step) -> bool:
    return step.node in content.get(step.vm, ())


def beneficiaries(steps: Sequence[Step]) -> Iterator[NamespacedName]:
    """For each step the asked VM that benefits in the end: its own, or the last of its chain."""
    for number, step in enumerate(steps):
        vm = step.vm
        for each in steps[number:]:
            if each.vm == vm and each.room_for is not None:
                vm = each.room_for
        yield vm


def why_aside(step: Step) -> str:
    """Why a VM moves although nobody asked for it; "" for a VM that was asked to move."""
    if step.room_for is None:
        return ""
    if step.room_for == step.vm:
        return "waits here until its place is free"
    return f"steps aside to make room for {step.room_for}"
