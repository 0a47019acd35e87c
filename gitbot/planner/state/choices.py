"""The nodes that VMs of one task can choose, judged once and corrected as others of them move."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step, Task
from gitbot.planner.schedule.in_flight import selectors
from gitbot.planner.state.plan_state import PlanState


class Choices:
    """What `PlanState.asked` says of each VM, from one state on. Tell it each step that is taken.

    Moves of VMs with which it shares no rule, and of which no terms speak, change only room: then
    the first answer stands but for room. All others are judged again.
    """

    def __init__(self, board: PlanState, task: Task, vms: Iterable[NamespacedName]) -> None:
        self._board, self._task = board, task
        self.first = {vm: board.asked(vm, task.wishes[vm]) for vm in vms}
        self.begin()

    def begin(self) -> None:
        """The board is back in its first state."""
        self._rules: set[int] = set()
        self._plain = True

    def took(self, step: Step) -> None:
        self._rules.update(self._board.transit.rules_over(step.vm))
        closed = step.source in step.wish.closed  # else its room is new to the others
        self._plain = self._plain and closed and alone_but_for_rules(self._board, step.vm)

    def now(self, vm: NamespacedName) -> Mask:
        """The nodes that would take the VM now."""
        board = self._board
        if not self.stands(vm) or board.onlooker.stopped():
            return board.asked(vm, self._task.wishes[vm])
        mask: Mask = self.first[vm] & board.transit.world.room(board.transit.target_pod(vm))
        return mask

    def stands(self, vm: NamespacedName) -> bool:
        """Whether the first answer about a VM stands but for room."""
        pinned = self._task.wishes[vm].pin is Pin.NODE
        rules = self._board.transit.rules_over(vm)
        alone = self._plain and alone_but_for_rules(self._board, vm)
        return pinned and alone and self._rules.isdisjoint(rules)


def alone_but_for_rules(board: PlanState, vm: NamespacedName) -> bool:
    """Whether nothing but room, and rules over it, ties a VM to others."""
    pod = board.transit.target_pod(vm)
    quotas = vm.namespace in board.transit.instances.quotas
    return board.transit.world.needs_only_room(pod) and not (quotas or selectors(pod))
