"""Move VMs to where they are content: the quick way, then with room made by others, then exactly.

The quick way moves each VM once, the most constrained first, and starts again with the leftovers in
front. If every VM that had to move has moved once, no plan has fewer moves. If room is scarce,
other VMs step aside. Then small tasks are searched for a better plan, within QUESTIONS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Numbers
from gitbot.model.plan.constraint import Occupancy
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step, TargetPolicy, Task, no_vm
from gitbot.planner.proofs.prove import left_by_task
from gitbot.planner.search.chains import Chains
from gitbot.planner.search.exact import Cost, SearchPhase, shortest
from gitbot.planner.search.prune_steps import attribute_steps, drop_needless_steps
from gitbot.planner.search.reachability import Offer
from gitbot.planner.state.choices import Choices
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import beside

ROUNDS = 4
SMALL = 400
"""VMs times nodes up to which a task is searched completely, within the search's QUESTIONS."""

MANY = 4_000
"""VMs times nodes of a cluster from which on the search covers only the asked VMs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Steps in a lawful order, and the VMs that are not content afterwards, sorted.

    `proven`: no plan leaves fewer, or leaves as few with fewer steps or less memory. `any_order`:
    all were judged with every VM holding both of its places, so they are lawful in any order.
    """

    steps: tuple[Step, ...]
    left: tuple[NamespacedName, ...]
    proven: bool = False
    any_order: bool = False


def solve(board: PlanState, task: Task, *, tight: bool = False) -> Solved:
    """Make as many VMs of the task content as possible, with the fewest steps.

    `tight`: fill the fullest nodes first, so that room stays together for what comes later.
    """
    if tight:
        return _with_room_made(board, task, ())
    best = solve_greedily(board, task)
    if not best.left:
        return Solved(steps=best.steps, left=(), proven=True)
    if board.onlooker.stopped() or all(board.hopeless(vm, task.wishes[vm]) for vm in best.left):
        return best
    for start in (best.steps, ()):
        other = _with_room_made(board, task, start)
        if cost(board, other) < cost(board, best):
            best = other
        if not best.left:
            break
    return _exact(board, task, best)


def cost(board: PlanState, solved: Solved) -> Cost:
    """Remaining VMs, steps, and bytes."""
    return len(solved.left), *effort(board, solved.steps)


def effort(board: PlanState, steps: Sequence[Step]) -> tuple[int, int]:
    return len(steps), sum(board.memory(step.vm) for step in steps)


def _left(board: PlanState, task: Task) -> tuple[NamespacedName, ...]:
    """The VMs that do not run where they are content.

    Their other places do not count: no move makes an old launcher pod go.
    """
    return tuple(vm for vm, nodes in sorted(task.content.items()) if board.place(vm) not in nodes)


def _with_room_made(board: PlanState, task: Task, start: Sequence[Step]) -> Solved:
    """Large VMs first, each to the tightest node; others step aside if necessary."""
    with board.trial(start):
        chains = Chains(board, task)
        waiting = sorted(_left(board, task), key=lambda vm: (-board.memory(vm), vm))
        for _ in range(ROUNDS):
            left = [vm for vm in waiting if not chains.settle(vm)]
            if not left or left == waiting:
                break
            waiting = left
    taken = [*start, *chains.steps]
    steps = drop_needless_steps(board, taken, task.content, lambda here: len(_left(here, task)))
    return _solved(board, task, attribute_steps(task.content, steps))


def _solved(board: PlanState, task: Task, steps: Sequence[Step], *, proven: bool = False) -> Solved:
    with board.trial(steps):
        return Solved(steps=tuple(steps), left=_left(board, task), proven=proven)


def _exact(board: PlanState, task: Task, best: Solved) -> Solved:
    """The best plan of a small task; the known plan if the search finds nothing better."""
    others = task.others if task.aside else no_vm
    movers, every = movers_of(board, sorted(task.content), others)
    if len(movers) * len(board.nodes) > SMALL:
        return best
    # A way that takes VMs back might be shorter, so nothing is proven then.
    every = every and task.departed.keys().isdisjoint(movers)
    found = shortest(
        board,
        movers,
        (leg_of(board, task),),
        scope=sorted(task.content),
        below=cost(board, best),
        left=left_by_task(board, task),
    )
    if found.path is None:
        return Solved(steps=best.steps, left=best.left, proven=found.proven and every)
    steps = attribute_steps(task.content, [step for steps in found.path for step in steps])
    return _solved(board, task, steps, proven=found.proven and every)


def movers_of(
    board: PlanState, asked: Sequence[NamespacedName], others: Callable[[NamespacedName], bool]
) -> tuple[Sequence[NamespacedName], bool]:
    """The asked VMs, and all others that may move if the search stays small.

    Also returns whether that is every VM that may move.
    """
    if len(board.occupancy) * len(board.nodes) > MANY:
        return asked, False
    known = frozenset(asked)
    rest = [vm for vm in sorted(board.occupancy) if vm not in known and others(vm)]
    together = [*asked, *rest]
    return (together, True) if len(together) * len(board.nodes) <= SMALL else (asked, not rest)


def leg_of(board: PlanState, task: Task) -> SearchPhase:
    content = {vm: nodes | beside(board, vm) for vm, nodes in task.content.items()}

    def undone(places: Occupancy) -> int:
        return sum(1 for vm, nodes in content.items() if not places.get(vm, _NOWHERE) <= nodes)

    return SearchPhase(offers=lambda vm: _offers(vm, task), undone=undone, at_least=undone)


_NOWHERE = frozenset({""})
_NONE: frozenset[str] = frozenset()


def _offers(vm: NamespacedName, task: Task) -> Sequence[Offer]:
    """Where the VM is content, then where it makes room for the others."""
    content = task.content.get(vm, _NONE)
    offers: list[Offer] = [(task.wishes[vm], _NONE)] if content else []
    if task.aside is None:
        return offers
    return [*offers, (task.aside, content | task.departed.get(vm, _NONE))]


def solve_greedily(board: PlanState, task: Task, *, keep: bool = False) -> Solved:
    """Each VM once, to the best node. With `keep`, the steps stay taken if no VM is left."""
    best: Solved | None = None
    choices = Choices(board, task, _left(board, task))
    order = _by_choice(board, choices)
    shunned = np.zeros(len(board.nodes), dtype=np.int64)
    mark = board.mark()
    for _ in range(ROUNDS):
        solved = _one_round(board, task, order, shunned, choices)
        if keep and not solved.left:
            return solved
        board.back(mark)
        if best is None or len(solved.left) < len(best.left):
            best = solved
        if not solved.left:
            break
        for vm in solved.left:
            shunned += board.asked(vm, task.wishes[vm])
        order = [*solved.left, *(vm for vm in order if vm not in solved.left)]
    assert best is not None
    return best


def _by_choice(board: PlanState, choices: Choices) -> list[NamespacedName]:
    """VMs with the fewest choices first, then the largest, then by name."""
    ranks = [(np.count_nonzero(mask), -board.memory(vm), vm) for vm, mask in choices.first.items()]
    return [vm for _, _, vm in sorted(ranks)]


def _one_round(
    board: PlanState,
    task: Task,
    order: Sequence[NamespacedName],
    shunned: Numbers,
    choices: Choices,
) -> Solved:
    """Take steps as long as there is one."""
    steps: list[Step] = []
    waiting = list(order)
    progress = True
    choices.begin()
    while waiting and progress:  # each round but the last takes a VM out of `waiting`
        progress = False
        for vm in list(waiting):
            step = _best(board, vm, task.wishes[vm], shunned, choices)
            if step is not None:
                board.take(step)
                choices.took(step)
                steps.append(step)
                board.onlooker.planned(len(steps))
                waiting.remove(vm)
                progress = True
    return Solved(steps=tuple(steps), left=tuple(sorted(waiting)))


def _best(
    board: PlanState, vm: NamespacedName, wish: TargetPolicy, shunned: Numbers, choices: Choices
) -> Step | None:
    """The best step. Among nodes that VMs with less choice need, it takes the least wanted one."""
    if not shunned.any():
        return board.best(vm, wish, asked=choices.now(vm) if wish.pin is Pin.NODE else None)
    if wish.pin is not Pin.NODE:
        steps = board.steps(vm, wish)
        return min(steps, key=lambda step: shunned[board.number[step.node]], default=None)
    ok = board.feasible(vm, wish)
    return board.best(vm, wish, shunned == shunned[ok].min()) if ok.any() else None
