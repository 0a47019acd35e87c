"""Empty nodes where room is not scarce: each VM moves once, and none steps aside.

Many VMs are placed in bulk first: equal ones share what nodes answer. That covers VMs that only
room and required rules tie to others, and moves that are lawful in any order: each VM holds both of
its places until the end. All others go step by step, before; then the schedule judges each move
again. The replay always does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gitbot.constraints.rules.worsening import monotone, signature
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step, TargetPolicy, Task
from gitbot.planner.search.greedy import Solved, solve_greedily
from gitbot.planner.state.choices import alone_but_for_rules
from gitbot.planner.state.plan_state import PlanState

MANY = 200
"""Fewer VMs go step by step, each with all others in view: that takes no longer."""

_STUCK = 10  # if more than one VM in so many is not placed in bulk, all go step by step
_TRIES = 32  # nodes that are tried for one VM, best first
_LAST = np.iinfo(np.int64).max

Tasks = Mapping[str, Task]
"""The VMs that leave each node, in the order in which the nodes are emptied."""


def calm(board: PlanState, tasks: Tasks, wish: TargetPolicy) -> Mapping[str, Solved] | None:
    """The steps of each node; None if a VM finds no place."""
    with board.trial():
        bulk = BulkPlacement(board, wish, [vm for task in tasks.values() for vm in task.content])
        while True:  # `bulk.vms` gets smaller with each attempt that places not all of them
            mark = board.mark()
            found = _step_by_step(board, tasks, bulk.vms)
            if found is None:
                return None
            placed = bulk.place(step for solved in found.values() for step in solved.steps)
            if placed is not None:
                break
            board.back(mark)
    return {node: _with(found[node], tasks[node], placed) for node in tasks}


def _with(solved: Solved, task: Task, placed: Mapping[NamespacedName, Step]) -> Solved:
    more = (placed[vm] for vm in task.content if vm in placed)
    return replace(solved, steps=(*solved.steps, *more), any_order=not solved.steps)


def _step_by_step(
    board: PlanState, tasks: Tasks, but: Collection[NamespacedName]
) -> dict[str, Solved] | None:
    found: dict[str, Solved] = {}
    count = 0
    for node, task in tasks.items():
        solved = Solved(steps=(), left=())
        content = {vm: nodes for vm, nodes in task.content.items() if vm not in but}
        if content:
            solved = solve_greedily(board, replace(task, content=content), keep=True)
        if solved.left:
            if not board.onlooker.stopped():
                return None
            solved = replace(solved, steps=())
        found[node] = solved
        count += len(solved.steps)
        board.onlooker.planned(count)
    return found


class BulkPlacement:
    """The VMs that can be placed together, by class; `vms` gets smaller when that fails."""

    def __init__(
        self, board: PlanState, wish: TargetPolicy, movers: Sequence[NamespacedName]
    ) -> None:
        self._board, self._wish = board, wish
        self._rules = board.transit.rules
        over = board.transit.rules_over
        asked = Counter(number for vm in movers for number in over(vm))
        self._shared = frozenset(number for number, count in asked.items() if count > 1)
        self._classes: dict[NamespacedName, Hashable] = {}
        if len(movers) >= MANY and wish.pin is Pin.NODE and not board.facts.load_aware.asked:
            found = {vm: self._class_of(vm) for vm in movers}
            self._classes = {vm: key for vm, key in found.items() if key is not None}
        self.vms = frozenset(self._classes)

    def _class_of(self, vm: NamespacedName) -> Hashable | None:
        """None if more than room and required rules decide where the VM can go, and when."""
        board, home = self._board, self._board.place(vm)
        soft = any(not self._rules[number].required for number in board.transit.rules_over(vm))
        stays = board.occupancy[vm] == {home} and home in self._wish.closed
        if soft or not stays or not alone_but_for_rules(board, vm):
            return None
        return board.transit.class_of(vm)

    def place(self, before: Iterable[Step]) -> Mapping[NamespacedName, Step] | None:
        """A step for each of `vms`, which hold their targets on the board from now on.

        `before` are the steps that are taken already: from now on they hold their sources as well.
        None if some find no node; then they are no longer in `vms`.
        """
        board, found, stuck = self._board, dict[NamespacedName, Step](), set[NamespacedName]()
        if board.onlooker.stopped():
            self.vms = frozenset()
        for step in before:
            board.transit.reserve(step.vm, step.source)
        classes = defaultdict[Hashable, list[NamespacedName]](list)
        for vm in sorted(self.vms, key=lambda vm: (-board.memory(vm), vm)):
            classes[self._classes[vm]].append(vm)
        most = len(self.vms) // _STUCK
        for vms in classes.values():
            waiting: Sequence[NamespacedName] = vms
            while waiting and len(stuck) <= most:  # a round places its first VM, or it is stuck
                taken, none = self._round(waiting)
                found.update((step.vm, step) for step in taken)
                stuck.update(none)
                waiting = [vm for vm in waiting if vm not in found and vm not in stuck]
            board.onlooker.planned(len(found))
        if stuck or len(found) < len(self.vms):
            self.vms = self.vms - stuck if len(stuck) <= most else frozenset()
            return None
        return found

    def _round(self, vms: Sequence[NamespacedName]) -> tuple[list[Step], list[NamespacedName]]:
        """Each VM to the best node that no other got, and the VMs that find none.

        It ends where one more VM on the first node is better than the next node.
        """
        board, first = self._board, vms[0]
        mask = board.accepting(first, self._wish)
        ranks = self._ranks(first, mask)
        floor = _LAST
        steps: list[Step] = []
        stuck: list[NamespacedName] = []
        for vm in vms:
            number = self._choice(vm, mask, ranks)
            if number is None:
                if not steps:
                    stuck.append(vm)
                continue
            if ranks[number] > floor:
                break
            step = board.step(vm, board.nodes[number], self._wish)
            board.transit.reserve(vm, step.node)
            if not steps:
                floor = -int(board.transit.totals(vm, np.array([number]))[0])
            mask[number] = False
            steps.append(step)
        return steps, stuck

    def _ranks(self, vm: NamespacedName, mask: Mask) -> Numbers:
        """Lower is better, in the order of nodes."""
        ranks = np.full(len(mask), _LAST, dtype=np.int64)
        numbers = np.flatnonzero(mask)
        ranks[numbers] = -self._board.transit.totals(vm, numbers)
        return ranks

    def _choice(self, vm: NamespacedName, mask: Mask, ranks: Numbers) -> int | None:
        board = self._board
        kept = board.transit.rule_mask(vm, board.pinnable(vm, self._wish, mask))
        ranks = np.where(kept, ranks, _LAST)
        for _ in range(_TRIES):
            number = int(ranks.argmin())
            if ranks[number] == _LAST:
                break
            if self._in_any_order(vm, board.nodes[number]):
                return number
            ranks[number] = _LAST
        return None

    def _in_any_order(self, vm: NamespacedName, node: str) -> bool:
        """Whether no rule minds if this move starts before or after those of others.

        A rule that only starts can make worse was asked with all places held. Any other one sees no
        difference between source and target.
        """
        source = self._board.place(vm)
        return all(
            monotone(rule) or signature(rule, node) == signature(rule, source)
            for number in self._shared.intersection(self._board.transit.rules_over(vm))
            for rule in (self._rules[number],)
        )
