"""Moves in flight together: what makes one more of them unsafe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step
from gitbot.planner.state.plan_state import PlanState

MOST_OF_A_RULE = 5
"""Most moves of one rule's VMs in flight: MigrationState combines all endings of so many."""

MOST_COUNTED = 4
"""Moves in flight that a VM's terms count: each of them waits, runs or is done."""


class MovesInFlight:
    """The moves in flight at one time, over a board that follows them.

    Migrations of others count against every limit until their estimated ends. If all moves may be
    in flight in any order (`any_order`), that is not asked again, and only limits are counted.
    If `narrow`, a move waits where others in flight would give one of them another landing.
    """

    def __init__(self, board: PlanState, *, any_order: bool = False, narrow: bool = False) -> None:
        self.air = board.fork()
        self._any = any_order
        self._narrow = narrow
        self.steps: dict[NamespacedName, Step] = {}
        self._limits = board.facts.problem.limits
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._zones: Counter[str] = Counter()
        self._others = sorted(board.facts.slots_held, key=lambda item: item.ends)
        for item in self._others:
            self._count(item.source, item.target, 1)

    @property
    def next_release(self) -> list[int]:
        """When the next migration of others is estimated to end; empty without one."""
        return [item.ends for item in self._others[:1]]

    def release(self, now: int) -> None:
        """Migrations of others that have ended by now hold nothing any more."""
        while self._others and self._others[0].ends <= now:
            item = self._others.pop(0)
            self._count(item.source, item.target, -1)

    @property
    def full(self) -> bool:
        """Whether all slots are taken. There is always one: a single move waits for its slot."""
        return len(self.steps) >= max(1, self._limits.slots - len(self._others))

    def crowded(self, step: Step) -> bool:
        """Whether the step must wait for others to end. Never true for a single move.

        A single move may exceed a limit beside migrations of others, which it waits for. Until it
        has ended it stays alone.
        """
        alone = not self.steps
        return not alone and not (
            self._within_limits(step, 1)
            and self._few_of_each_rule(step)
            and all(self._within_limits(other, 0) for other in self.steps.values())
        )

    def admit(self, step: Step) -> bool:
        """Start one more move if that is safe beside the others; return whether it was."""
        if not self._any and not self._launched(step):
            return False
        self.steps.setdefault(step.vm, step)
        self._count(step.source, step.node, 1)
        return True

    def _launched(self, step: Step) -> bool:
        if not self.air.takes(step) or not self._any_order(step):
            return False
        together = [*self.steps.values(), step]
        if all(item.wish.pin is Pin.NODE for item in together):
            self.air.launch(step)
            return True
        return self._relaunch(together)

    def land(self, vm: NamespacedName) -> Step:
        """The move has ended. Its step lists every landing that was possible."""
        step = self.steps.pop(vm)
        if not self._any:
            self.air.finish(vm)
        self._count(step.source, step.node, -1)
        return step

    def _relaunch(self, together: Sequence[Step]) -> bool:
        """If safe, start all of them again with every landing that the scheduler may choose."""
        mark = self.air.mark()
        for vm in self.steps:
            self.air.fail(vm)
        widened = [_widened(self.air, item, together) for item in together]
        same = not self._narrow or [w.landings for w in widened] == [s.landings for s in together]
        if not same or not all(_lands_well(self.air, w, self.steps.values()) for w in widened):
            self.air.back(mark)
            return False
        for item in widened:
            self.air.launch(item)
            self.steps[item.vm] = item
        return True

    def _count(self, source: str, target: str, sign: int) -> None:
        self._sources[source] += sign
        self._targets[target] += sign
        for zone in self._zones_of(source, target):
            self._zones[zone] += sign

    def _zones_of(self, source: str, target: str) -> set[str]:
        zone = self.air.facts.zone
        return {zone(source), zone(target)} - {""}

    def _within_limits(self, step: Step, more: int) -> bool:
        """Whether so many more moves between the same nodes keep the limits."""
        limits = self._limits
        return (
            self._sources[step.source] + more <= limits.per_source_node
            and self._targets[step.node] + more <= limits.per_target_node
            and all(
                self._zones[zone] + more <= limits.per_zone
                for zone in self._zones_of(step.source, step.node)
            )
        )

    def _few_of_each_rule(self, step: Step) -> bool:
        moving = {*self.steps, step.vm}
        rules = self.air.facts.rules_over(step.vm)
        return all(len(rule.members & moving) <= MOST_OF_A_RULE for rule in rules)

    def _any_order(self, step: Step) -> bool:
        """Whether every move could start before, with or after the others in flight.

        Room and anti-affinity are tightest with all others in flight: `admit` checks that. Pod
        affinity and topology spread are different: they may refuse a move because a VM left or
        because a count changed. So moves of VMs with such demands are checked in every state of the
        moves that their terms count, with the others in flight.
        """
        flying = list(self.steps.values())
        if self._delicate(step) and not self._in_any_order(step, flying):
            return False
        return all(
            self._in_any_order(item, [*(each for each in flying if each is not item), step])
            for item in flying
            if self._delicate(item) and counts(self.air, item.vm, step.vm)
        )

    def _in_any_order(self, step: Step, others: Sequence[Step]) -> bool:
        counted = [other for other in others if counts(self.air, step.vm, other.vm)]
        if len(counted) > MOST_COUNTED:
            return False
        with self.air.trial() as air:
            if step.vm in self.steps:
                air.fail(step.vm)
            for other in others:
                if other.vm not in self.steps:
                    air.launch(other)
            every = product((0, 1, 2), repeat=len(counted))
            return all(_takes_at(air, step, counted, stages) for stages in every)

    def _delicate(self, step: Step) -> bool:
        pod = self.air.transit.target_pod(step.vm)
        return bool(pod.affinity.required_pods or any(item.hard for item in pod.spread))


def counts(board: PlanState, vm: NamespacedName, other: NamespacedName) -> bool:
    """Whether a required term of the one VM's pod selects the other's pods, in any namespace."""
    transit = board.transit
    found = selectors(transit.target_pod(vm))
    if not found:
        return False
    source = transit.instances[other].source_pod
    labels = [transit.target_pod(other).labels, labels_of(source or {})]
    return any(selector.matches(each) for selector in found for each in labels)


def selectors(pod: Pod) -> list[LabelMatcher]:
    """Which pods a pod's required terms count, without KubeVirt's term for the VM's other pod."""
    own = (CREATED_BY, pod.labels.get(CREATED_BY, ""))
    terms = (*pod.affinity.required_pods, *pod.affinity.required_anti)
    found = [term.selector for term in terms if term.selector.one_label != own]
    return found + [item.selector for item in pod.spread if item.hard]


def _widened(ground: PlanState, step: Step, together: Sequence[Step]) -> Step:
    """The step with every landing that the scheduler may choose before or after the others."""
    if step.wish.pin is Pin.NODE:
        return step
    others = [item for item in together if item.vm != step.vm]
    landings = set(step.landings)
    for before in ((), others):
        with ground.trial(before) as board:
            landings.update(
                board.transit.landings(step.vm, step.wish.pin, step.node, step.wish.target)
            )
    return replace(step, landings=tuple(sorted(landings)))


def _lands_well(ground: PlanState, step: Step, flying: Iterable[Step]) -> bool:
    """Whether all landings of the step are wanted and break no rule, with the others in flight."""
    if step.wish.pin is Pin.NODE:
        return True
    wanted = ground.facts.matching(step.wish.target) - step.wish.closed.keys()
    with ground.trial() as air:
        for item in flying:
            if item.vm != step.vm:
                air.launch(item)
        return wanted.issuperset(step.landings) and not any(
            air.transit.worsened_by(step.vm, node) for node in step.landings
        )


def _takes_at(air: PlanState, step: Step, others: Sequence[Step], stages: Sequence[int]) -> bool:
    """Whether the step may start while others are in flight, wait again (0) or are done (2)."""
    with air.trial() as board:
        for other, stage in zip(others, stages, strict=True):
            if stage == 0:
                board.fail(other.vm)
            elif stage == 2:
                board.finish(other.vm)
        return board.takes(step)
