"""What each move waits for: the moves that must have ended before it starts, even if some are late.

Goes through the moves in the order of their starts. Checks each in a world in which all earlier
moves still hold both places. If that world refuses it, the move waits for moves that have ended by
its start. A plan with these ties keeps the law in any order of ends that they allow: among all
moves that have started, the last one was checked beside all the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from gitbot.constraints.rules.worsening import monotone, places_during, worsened
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step
from gitbot.planner.schedule.in_flight import MOST_OF_A_RULE, counts, selectors
from gitbot.planner.schedule.schedule import Timed
from gitbot.planner.state.plan_state import PlanState

_TERMS = frozenset(
    {"InterPodAffinity", "PodTopologySpread", "NodeUnschedulable", "TaintToleration"}
)
"""Plugins that refuse for other reasons than room on the node itself."""


def ties(
    board: PlanState, timed: Sequence[Timed], *, any_order: bool = False
) -> tuple[tuple[int, ...], ...]:
    """For each move, in the order of starts, the places of the moves that it waits for.

    Leaves out a move if another of them waits for it already. `board` is the state before all. With
    `any_order`, moves wait only for what rules cannot see in flight.
    """
    knots = _DependencyBuilder(board, timed, any_order=any_order)
    return tuple(knots.tie(number) for number in range(len(timed)))


class _DependencyBuilder:
    def __init__(self, board: PlanState, timed: Sequence[Timed], *, any_order: bool) -> None:
        self.board = board
        self.any_order = any_order
        looks = (self._order, self._terms, self._quota, self._rules, self._room)
        self.looks = (self._order, self._rules) if any_order else looks
        self.timed = timed
        self.steps = [item.planned.step for item in timed]
        world = board.transit.world
        self.sky = world if any_order else world.fork()  # all moves hold both places here
        self.before: list[int] = []  # by move: the bits of all that have ended when it starts
        self.ended = 0
        self.under_way: list[tuple[int, int]] = []
        self.of_vm: dict[NamespacedName, int] = {}
        self.of_rule: dict[int, list[int]] = defaultdict(list)  # by id
        self.of_namespace: dict[str, list[int]] = defaultdict(list)
        self.arrivals: dict[str, list[int]] = defaultdict(list)
        self.departures: dict[str, list[int]] = defaultdict(list)  # of moves that have ended
        self.freed: dict[str, list[int]] = defaultdict(list)  # departures that a move needs
        self.social: list[int] = []
        self.loose: list[int] = []
        self.pods: dict[NamespacedName, NamespacedName] = {}  # targets of moves so far
        self.sources: list[NamespacedName | None] = []
        self._given = 0  # follows from the return of the target, without a tie

    def tie(self, number: int) -> tuple[int, ...]:
        # Each round takes one out of `under_way`, to which each move is added once.
        while self.under_way and self.under_way[0][0] <= self.timed[number].starts:
            _, other = heappop(self.under_way)
            self.ended |= 1 << other
            self.departures[self.steps[other].source].append(other)
        needs: set[int] = set()
        self._given = self._emptied(number)
        for look in self.looks:
            needs.update(look(number, needs))
        self._start(number, self._closure(needs))
        return tuple(sorted(self._reduced(needs)))

    def _closure(self, needs: Iterable[int]) -> int:
        mask = self._given
        for other in needs:
            mask |= 1 << other | self.before[other]
        return mask

    def _reduced(self, needs: Iterable[int]) -> Iterator[int]:
        """The moves that none of the others waits for."""
        listed = tuple(needs)
        for other in listed:
            known = self._given >> other & 1
            if not known and not any(self.before[later] >> other & 1 for later in listed):
                yield other

    def _emptied(self, number: int) -> int:
        """Moves that have certainly ended, because the target was emptied and is back."""
        item, mask = self.timed[number].planned, 0
        if item.returned:
            for other in range(number):
                before = self.timed[other].planned
                if before.leaves == item.step.node and before.request == item.request:
                    mask |= 1 << other | self.before[other]
        return mask

    def _done(self, numbers: Iterable[int]) -> list[int]:
        return [other for other in numbers if self.ended >> other & 1]

    def _start(self, number: int, before: int) -> None:
        step = self.steps[number]
        self.before.append(before)
        heappush(self.under_way, (self.timed[number].ends, number))
        if not self.any_order:
            self._hold(number, step)
        self.of_vm[step.vm] = number
        self.of_namespace[step.vm.namespace].append(number)
        self.arrivals[step.node].append(number)
        for rule in self.board.facts.rules_over(step.vm):
            self.of_rule[id(rule)].append(number)
        if step.wish.pin is not Pin.NODE:
            self.loose.append(number)

    def _hold(self, number: int, step: Step) -> None:
        """From now on the move holds both places."""
        source = self.pods.get(step.vm) or self.board.transit.instances.source_pod_of(step.vm)
        self.sources.append(source)
        pod = self._pod(step.vm)
        self.pods[step.vm] = step.vm._replace(name=f"{step.vm.name}-move-{number}")
        self.sky.add(pod.replace(name=self.pods[step.vm]), step.node)
        if selectors(pod):
            self.social.append(number)

    def _order(self, number: int, _: set[int]) -> Iterator[int]:
        """Its VM's earlier move, moves to the node that its group empties, and unpinned moves."""
        step = self.steps[number]
        if step.vm in self.of_vm:
            yield self.of_vm[step.vm]
        yield from self.arrivals[self.timed[number].planned.leaves]
        loose = step.wish.pin is not Pin.NODE
        yield from self._done(range(number) if loose else self.loose)

    def _terms(self, number: int, _: set[int]) -> Iterator[int]:
        """Moves that its pod's terms count, or whose terms count its pod."""
        vm = self.steps[number].vm
        mine = selectors(self._pod(vm))
        for other in self._done(range(number) if mine else self.social):
            theirs = self.steps[other].vm
            if counts(self.board, vm, theirs) or counts(self.board, theirs, vm):
                yield other

    def _quota(self, number: int, needs: set[int]) -> Iterator[int]:
        vm, transit = self.steps[number].vm, self.board.transit
        if vm.namespace in transit.instances.quotas:
            before, ours = self._closure(needs), self.of_namespace[vm.namespace]
            beside = [self.steps[other].vm for other in ours if not before >> other & 1]
            if transit.refusal(vm, beside):
                yield from self._done(ours)

    def _rules(self, number: int, needs: set[int]) -> Iterator[int]:
        """Moves of VMs of the same rule, if it matters to the rule which of them have ended."""
        before = self._closure(needs)
        for rule in self.board.facts.rules_over(self.steps[number].vm):
            mates = self.of_rule[id(rule)]
            ended = [other for other in self._done(mates) if not before >> other & 1]
            if rule.required and ended and not (self.any_order and monotone(rule)):
                beside = [other for other in mates if not before >> other & 1]
                if self._minds(rule, number, [o for o in mates if before >> o & 1], beside):
                    yield from ended

    def _minds(
        self, rule: RuleConstraint, number: int, done: Sequence[int], beside: Sequence[int]
    ) -> bool:
        """Whether the move could break the rule, with the moves beside it at any stage."""
        tied = any(self.before[later] >> other & 1 for later in beside for other in beside)
        vms = {self.steps[other].vm for other in beside}
        if len(vms) < len(beside) or (
            not monotone(rule) and (tied or len(beside) >= MOST_OF_A_RULE)
        ):
            return True
        ended = [self._ends(other) for other in done]
        places = places_during(self.board.places(rule.members), ended, [2] * len(ended))
        return bool(worsened(rule, places, [self._ends(other) for other in (*beside, number)]))

    def _ends(self, number: int) -> tuple[NamespacedName, str, str]:
        step = self.steps[number]
        return step.vm, step.source, step.node

    def _room(self, number: int, _: set[int]) -> Sequence[int]:
        """Departures from its target, oldest first, until the node takes it beside all others."""
        step = self.steps[number]
        leaving, freed = self.departures[step.node], self.freed[step.node]
        while self._too_full(step.vm, step.node) and leaving:
            other = leaving.pop(0)  # so the list gets shorter
            freed.append(other)
            source = self.sources[other]
            if source is not None:
                self.sky.remove(source)
        return freed

    def _too_full(self, vm: NamespacedName, node: str) -> bool:
        pod = self._pod(vm)
        if self.sky.fits(pod, node):
            return False
        return any(item.plugin not in _TERMS for item in self.sky.check(pod, node))

    def _pod(self, vm: NamespacedName) -> Pod:
        return self.board.transit.target_pod(vm)
