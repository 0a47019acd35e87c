"""Moves in flight together: what makes one more of them unsafe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from gitbot.model.objects import labels_of
from gitbot.model.problem import Pin
from gitbot.planner.board import Board
from gitbot.planner.step import Step

MOST_OF_A_RULE = 5
"""Moves of one rule's VMs in one wave: so many endings Transit combines completely."""

MOST_COUNTED = 4
"""Moves in one wave that a VM's terms count: each of them is to come, under way or done."""


class Flight:
    """The moves of one wave, all in flight over a board on which none has started.

    Migrations of others count against every limit, as long as the plan lasts.
    """

    def __init__(self, ground: Board) -> None:
        self.steps: list[Step] = []
        self._ground = ground
        self._air = ground.fork()
        self._limits = ground.facts.problem.limits
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._zones: Counter[str] = Counter()
        self._others = len(ground.facts.moving)
        for source, target in ground.facts.moving.values():
            self._count(source, target)

    @property
    def full(self) -> bool:
        """Whether no slot is left. One move may always go: it waits for its slot."""
        return len(self.steps) >= max(1, self._limits.slots - self._others)

    def admit(self, step: Step) -> bool:
        """Take one more move aboard, if that is safe; say whether it was."""
        if self.steps and not (self._within_limits(step) and self._few_of_each_rule(step)):
            return False
        if not self._air.takes(step) or not self._any_order(step):
            return False
        together = [*self.steps, step]
        if any(item.wish.pin is not Pin.NODE for item in together):
            together = [self._widened(item, together) for item in together]
            if not all(self._lands_well(item) for item in together):
                return False
        self.steps = together
        self._air = self._ground.fork()
        for item in together:
            self._air.launch(item)
        self._count(step.source, step.node)
        return True

    def _widened(self, step: Step, together: Sequence[Step]) -> Step:
        """The step with every landing that the scheduler may choose before or after the others."""
        if step.wish.pin is Pin.NODE:
            return step
        others = [item for item in together if item.vm != step.vm]
        landings = set(step.landings)
        for board in (self._ground, self._ground.after(others)):
            landings.update(board.transit.landings(step.vm, step.wish.pin, step.node))
        return replace(step, landings=tuple(sorted(landings)))

    def _lands_well(self, step: Step) -> bool:
        """Whether no landing of the step is unwanted or breaks a rule, the others in flight."""
        if step.wish.pin is Pin.NODE:
            return True
        wanted = self._ground.facts.matching(step.wish.target) - step.wish.closed.keys()
        air = self._ground.fork()
        for item in self.steps:
            if item.vm != step.vm:
                air.launch(item)
        return wanted.issuperset(step.landings) and not any(
            air.transit.worsened_by(step.vm, node) for node in step.landings
        )

    def _count(self, source: str, target: str) -> None:
        self._sources[source] += 1
        self._targets[target] += 1
        self._zones.update(self._zones_of(source, target))

    def _zones_of(self, source: str, target: str) -> set[str]:
        zone = self._ground.facts.zone
        return {zone(source), zone(target)} - {""}

    def _within_limits(self, step: Step) -> bool:
        limits = self._limits
        return (
            self._sources[step.source] < limits.per_source_node
            and self._targets[step.node] < limits.per_target_node
            and all(
                self._zones[zone] < limits.per_zone
                for zone in self._zones_of(step.source, step.node)
            )
        )

    def _few_of_each_rule(self, step: Step) -> bool:
        moving = {item.vm for item in self.steps} | {step.vm}
        rules = self._ground.facts.rules_over(step.vm)
        return all(len(rule.members & moving) <= MOST_OF_A_RULE for rule in rules)

    def _any_order(self, step: Step) -> bool:
        """Whether every move could start before, beside or after the others.

        Room and anti-affinity are hardest with all others in flight, which is what `admit` asks.
        Pod affinity and topology spread are not: a friend that left, or another count, may refuse
        what was allowed before. So moves of VMs with such demands are asked in every state of the
        moves that their terms count; the others are in flight.
        """
        if self._delicate(step) and not self._in_any_order(step, self.steps):
            return False
        return all(
            self._in_any_order(item, [*(each for each in self.steps if each is not item), step])
            for item in self.steps
            if self._delicate(item) and self._counts(item, step)
        )

    def _in_any_order(self, step: Step, others: Sequence[Step]) -> bool:
        counted = [other for other in others if self._counts(step, other)]
        if len(counted) > MOST_COUNTED:
            return False
        air = self._ground.fork()
        for other in others:
            if other not in counted:
                air.launch(other)
        return all(state.takes(step) for state in _states(air, counted))

    def _counts(self, step: Step, other: Step) -> bool:
        """Whether a term of the one VM's pod selects the other's pods, whatever their namespace."""
        transit = self._ground.transit
        pod = transit.target_pod(step.vm)
        source = transit.instances[other.vm].source_pod
        labels = [transit.target_pod(other.vm).labels, labels_of(source or {})]
        selectors = [term.selector for term in pod.affinity.required_pods]
        selectors += [item.selector for item in pod.spread if item.hard]
        return any(selector.matches(each) for selector in selectors for each in labels)

    def _delicate(self, step: Step) -> bool:
        pod = self._ground.transit.target_pod(step.vm)
        return bool(pod.affinity.required_pods or any(item.hard for item in pod.spread))


def _states(ground: Board, steps: Sequence[Step]) -> Iterator[Board]:
    """Every state in which each step has not started, is in flight, or is done."""
    for stages in product((0, 1, 2), repeat=len(steps)):
        board = ground.fork()
        for step, stage in zip(steps, stages, strict=True):
            if stage:
                board.launch(step)
            if stage == 2:
                board.transit.finish(step.vm)
        yield board
