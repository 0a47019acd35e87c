"""Where VMs are while the planner works. The planner's only access to MigrationState.

MigrationState answers what may start and what a start puts at risk. PlanState adds what one
question cannot see: earlier moves whose landing is up to the scheduler.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice, product

import numpy as np

from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.rules.worsening import monotone, signature, total
from gitbot.constraints.scheduler.verdicts import elsewhere
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.caches import IdentityCache
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move
from gitbot.model.plan.plan import NodeReasons
from gitbot.model.plan.problem import Pin
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.planner.plan_types import Step, TargetPolicy, worsens
from gitbot.planner.problem_index import ProblemIndex

Mark = tuple[int, Occupancy]
_MOST_SCORE = 1_000_000  # above every sum of scores
_LANDINGS = 256  # combinations of landings that a step is judged at; the replay sees more
_MOST_CLOSED = 32
_LAST = np.iinfo(np.int64).max
EVERY = range(_MOST_SCORE)


class PlanState:
    """One state of all VMs. Applies and undoes steps; the cost of a step is what it touches."""

    def __init__(
        self, facts: ProblemIndex, transit: MigrationState, loose: Occupancy | None = None
    ) -> None:
        self.facts = facts
        self.transit = transit
        self._loose: dict[NamespacedName, frozenset[str]] = dict(loose or {})
        self.left: Occupancy = {}  # nodes that earlier goals of the plan took VMs away from
        self.onlooker: PlanningProgress = NO_PROGRESS  # once asked to end, no node takes a VM
        columns = transit.world.state.columns
        self.nodes, self.number = columns.names, columns.index
        self._numbers = IdentityCache(partial(_numbers, self.number), most=_MOST_CLOSED)
        self.open_nodes = IdentityCache(frozenset(facts.nodes).difference, most=_MOST_CLOSED)

    @classmethod
    def of(cls, facts: ProblemIndex) -> PlanState:
        return cls(facts, MigrationState.of(facts.problem))

    def fork(self) -> PlanState:
        other = PlanState(self.facts, self.transit.fork(), self._loose)
        other.left = self.left
        return other

    def mark(self) -> Mark:
        """The present state, for `back`."""
        return self.transit.mark(), dict(self._loose)

    def back(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        done, loose = mark
        self.transit.undo_to(done)
        self._loose = dict(loose)

    @contextmanager
    def trial(self, steps: Iterable[Step] = ()) -> Iterator[PlanState]:
        """This board after the steps. At the end everything done inside is undone."""
        mark = self.mark()
        try:
            self.advance(steps)
            yield self
        finally:
            self.back(mark)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """At the end, what `remember` added inside is forgotten."""
        before = self.left
        try:
            yield
        finally:
            self.left = before

    def remember(self, steps: Iterable[Step]) -> None:
        """Later goals take no VM back to where these steps took it from."""
        left = dict(self.left)
        for step in steps:
            left[step.vm] = left.get(step.vm, frozenset()) | {step.source}
        self.left = left

    def cordon(self, nodes: Iterable[str]) -> None:
        """Make these nodes unschedulable. Unknown nodes are ignored."""
        self.transit.cordon(*(node for node in nodes if node in self.facts.nodes))

    def uncordon(self, nodes: Iterable[str]) -> None:
        """Make these nodes schedulable again. Unknown nodes are ignored."""
        self.transit.cordon(*(node for node in nodes if node in self.facts.nodes), off=True)

    def advance(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.take(step)

    def take(self, step: Step) -> None:
        """Carry out one step. Nothing is checked."""
        self.transit.move(step.vm, step.node)
        self._note(step)

    def launch(self, step: Step) -> None:
        """Put a step in flight. Nothing is checked."""
        self.transit.start(step.vm, step.node)
        self._note(step)

    def _note(self, step: Step) -> None:
        """Remember a landing that is up to the scheduler."""
        if len(step.landings) > 1:
            old = self.facts.lingering.get(step.vm, frozenset())
            self._loose[step.vm] = old.union(step.landings)
        else:
            self._loose.pop(step.vm, None)

    def finish(self, vm: NamespacedName) -> None:
        """The step of a VM succeeds: its source's place is free."""
        self.transit.finish(vm)

    def fail(self, vm: NamespacedName) -> None:
        """The step of a VM fails: its target's place is free."""
        self.transit.fail(vm)

    def place(self, vm: NamespacedName) -> str:
        """Where a VM runs; "" if it does not run."""
        return self.transit.node_of(vm)

    def on(self, node: str) -> tuple[NamespacedName, ...]:
        """The VMs that hold a place on a node, sorted."""
        return self.transit.on(node)

    @property
    def occupancy(self) -> Occupancy:
        return self.transit.occupancy

    def places(self, vms: Iterable[NamespacedName]) -> Occupancy:
        occupancy = self.transit.occupancy
        return {vm: occupancy[vm] for vm in vms if vm in occupancy}

    def key(self, movers: Sequence[NamespacedName]) -> tuple[str, ...]:
        """The places of some VMs: the identity of a state in which only they have moved."""
        return tuple(self.place(vm) for vm in movers)

    def choices(self, vm: NamespacedName, wish: TargetPolicy) -> tuple[str, ...]:
        """The nodes that would take the VM now, sorted."""
        return tuple(self.nodes[number] for number in np.flatnonzero(self.asked(vm, wish)))

    def asked(self, vm: NamespacedName, wish: TargetPolicy) -> Mask:
        """`choices` as a mask in the order of `nodes`."""
        if self.onlooker.stopped():
            return self.transit.world.state.columns.nowhere()
        mask = self.transit.feasible(vm, wish.pin, wish.target)
        mask[self._numbers(wish.closed)] = False
        return mask

    def feasible(self, vm: NamespacedName, wish: TargetPolicy) -> Mask:
        """Where a step pinned to its node may start now, in the order of `nodes`.

        With another pin the scheduler decides the landing; `steps` checks each possible one.
        """
        return self.pinnable(vm, wish, self.asked(vm, wish))

    def pinnable(self, vm: NamespacedName, wish: TargetPolicy, asked: Mask) -> Mask:
        """The asked nodes to which a move can be pinned."""
        if wish.pin is not Pin.NODE:
            return asked
        mask = asked.copy()
        mask[self._numbers(self.facts.twins)] = False
        own = self.facts.node_selector(vm)
        if HOSTNAME in own or self._loose or not own.keys().isdisjoint(wish.target.added):
            for number in np.flatnonzero(mask):
                step = self.step(vm, self.nodes[number], wish)
                mask[number] = not (self.collision(vm, step.selector) or self._against(step))
        return mask

    def but_for_room(self, vm: NamespacedName, wish: TargetPolicy) -> Mask:
        """Where a step to an open node could start if there were room."""
        mask = self.accepting(vm, wish, room=False)
        mask[self._numbers(self.facts.twins)] = False
        mask[self._numbers({self.place(vm): ""})] = False
        return self.transit.rule_mask(vm, mask)

    def accepting(self, vm: NamespacedName, wish: TargetPolicy, *, room: bool = True) -> Mask:
        """The open nodes that the filters accept; rules are not asked."""
        mask = self.transit.world.mask(self.transit.target_pod(vm), room=room)
        mask[self._numbers(wish.closed)] = False
        return mask

    def hopeless(self, vm: NamespacedName, wish: TargetPolicy) -> bool:
        """Whether no node that the wish allows would take the VM even if it were empty."""
        wanted = self.facts.matching(wish.target) - wish.closed.keys() - {self.place(vm)}
        mask = self.transit.world.fits_if_empty(self.transit.target_pod(vm))
        return not any(mask[self.number[node]] for node in wanted)

    def takes(self, step: Step) -> bool:
        """Whether a step may start in this state, for every landing."""
        wish = step.wish
        if wish.pin is Pin.NODE:
            ok = self.transit.can_start_pinned(step.vm, step.node)
        else:
            ok = step.node in self.transit.allowed(step.vm, wish.pin, wish.target)
        return ok and not self._against(step)

    def keeps(self, vm: NamespacedName, node: str) -> bool:
        return self.transit.keeps_rules(vm, node)

    def lift(self, vm: NamespacedName) -> None:
        """Remove a VM completely, to try what would fit without it."""
        self.transit.lift(vm)

    def room(self, resource: str) -> Numbers:
        """The free amount of a resource, in the order of `nodes`: milli cpu, bytes, `pods`."""
        state = self.transit.world.state
        free: Numbers = state.columns.allocatable(resource) - state.column(resource)
        return free

    def asks(self, vm: NamespacedName) -> Mapping[str, int]:
        """What a target pod takes from `room`, for the resources that the scheduler checks."""
        return self.transit.world.asks(self.transit.target_pod(vm))

    def memory(self, vm: NamespacedName) -> int:
        """Bytes of guest memory that a move of the VM copies."""
        return self.facts.memory(vm)

    def steps(
        self, vm: NamespacedName, wish: TargetPolicy, among: Container[int] = EVERY
    ) -> Iterator[Step]:
        """The lawful steps of a VM from here; if pinned to nodes, to those with these numbers.

        Best first: least breach of preferred rules, then the scheduler's score, then the name.
        """
        asked, pinned = self.asked(vm, wish), wish.pin is Pin.NODE
        ok, numbers = self.pinnable(vm, wish, asked), np.flatnonzero(asked)
        inside = among if pinned else EVERY
        places = [p for p, n in enumerate(numbers.tolist()) if ok[n] and n in inside]
        if len(places) > 1:
            places.sort(key=self._order(vm, wish, numbers).tolist().__getitem__)
        seen: set[tuple[str, ...]] = set()
        for place in places:
            step = self.step(vm, self.nodes[numbers[place]], wish)
            if pinned or self._lands_well(step, seen):
                seen.add(step.landings)
                yield step

    def _lands_well(self, step: Step, seen: set[tuple[str, ...]]) -> bool:
        return (
            step.landings not in seen
            and step.wish.closed.keys().isdisjoint(step.landings)
            and not self.collision(step.vm, step.selector)
            and not self._against(step)
        )

    def best(
        self,
        vm: NamespacedName,
        wish: TargetPolicy,
        among: Mask | None = None,
        *,
        asked: Mask | None = None,
    ) -> Step | None:
        """The first of `steps`, `among` these nodes; `asked` if that is known already."""
        if wish.pin is not Pin.NODE:
            found = self.steps(vm, wish)
            return next((s for s in found if among is None or among[self.number[s.node]]), None)
        asked = self.asked(vm, wish) if asked is None else asked
        ok = self.pinnable(vm, wish, asked)
        if among is not None:
            ok &= among
        numbers = np.flatnonzero(asked)
        chosen = ok[numbers]
        if not chosen.any():
            return None
        order = np.where(chosen, self._order(vm, wish, numbers), _LAST)
        return self.step(vm, self.nodes[numbers[order.argmin()]], wish)

    def collision(self, vm: NamespacedName, selector: Mapping[str, str]) -> str:
        """Keys that the pin and the VM's own nodeSelector set to different values; in words.

        KubeVirt lets the VM's own value win and drops such a pin silently.
        """
        own = self.facts.node_selector(vm)
        return ", ".join(
            f"the move demands {key}={value}, the VM's own nodeSelector {key}={own[key]}"
            for key, value in sorted(selector.items())
            if key in own and own[key] != value
        )

    def step(self, vm: NamespacedName, node: str, wish: TargetPolicy) -> Step:
        """The step of a VM to a node. Nothing is checked."""
        pinned = wish.pin is Pin.NODE
        return Step(
            vm=vm,
            source=self.place(vm),
            node=node,
            landings=(node,) if pinned else self.transit.landings(vm, wish.pin, node, wish.target),
            wish=wish,
            selector=self.transit.selector(wish.pin, node, wish.target),
        )

    def _order(self, vm: NamespacedName, wish: TargetPolicy, numbers: Numbers) -> Numbers:
        """Lower is better: breaches of preferred rules, then the scheduler's score."""
        if len(numbers) < 2:
            return np.zeros(len(numbers), dtype=np.int64)
        order = -self.transit.totals(vm, numbers)
        if wish.pin is not Pin.NODE:
            return order
        order -= self.facts.load_aware.scores(vm, self.nodes)[numbers]
        for rule in self.facts.rules_over(vm):
            if not rule.required:
                order += _MOST_SCORE * self._soft(rule, vm, numbers)
        return order

    def _soft(self, rule: RuleConstraint, vm: NamespacedName, numbers: Numbers) -> Numbers:
        """How much of a rule is broken once the VM has moved to each of the nodes."""
        places, held = self.places(rule.members), self.occupancy.get(vm, frozenset())
        found: dict[object, int] = {}
        for name in (names := [self.nodes[number] for number in numbers]):
            alike = signature(rule, name)
            if alike not in found:
                found[alike] = total(rule, {**places, vm: after_move(held, self.place(vm), name)})
        return np.array([found[signature(rule, name)] for name in names], dtype=np.int64)

    def _against(self, step: Step) -> tuple[str, ...]:
        """A pin that matches several nodes, or a rule that earlier landings could break."""
        twins = self.facts.twins.get(step.node, ())
        if twins and step.wish.pin is Pin.NODE:
            words = f"its label {HOSTNAME} is that of {', '.join(twins)} as well"
            return (f"addedNodeSelector: {words}, so no move can be pinned to it",)
        others = {vm: nodes for vm, nodes in self._loose.items() if vm != step.vm}
        return tuple(
            f"{rule.ref.id}: {breach.message} (as an earlier move is not pinned to a node)"
            for rule in self.facts.rules_over(step.vm)
            if rule.required and not rule.members.isdisjoint(others)
            for breach in self._worst(rule, others, step)
        )

    def _worst(self, rule: RuleConstraint, others: Occupancy, step: Step) -> tuple[Breach, ...]:
        """What a step breaks of a rule at the first landings of other VMs at which it does."""
        places = (worsens(rule, places, step) for places in self._scattered(rule, others))
        return next(filter(None, places), ())

    def _scattered(self, rule: RuleConstraint, others: Occupancy) -> Iterator[Occupancy]:
        """Where a rule's VMs hold a place: each other VM on all of its possible landings.

        A rule that a free place can break also needs them on one landing each, beside moves in
        flight that wait, run or have ended, in every combination; nodes that the rule treats alike
        count once.
        """
        known = self.places(rule.members)
        beside = {vm: nodes for vm, nodes in others.items() if vm in rule.members}
        yield {**known, **beside}
        if monotone(rule):
            return
        flying = [vm for vm in self.transit.moving if vm in rule.members and vm not in beside]
        every = {vm: self._stages(vm) for vm in sorted(flying)}
        for vm, nodes in beside.items():
            alike = {signature(rule, node): node for node in sorted(nodes)}
            every[vm] = [frozenset({node}) for node in alike.values()]
        for places in islice(product(*every.values()), _LANDINGS):
            yield {**known, **dict(zip(every, places, strict=True))}

    def _stages(self, vm: NamespacedName) -> list[frozenset[str]]:
        """The places of a VM in flight while its move waits, runs or has ended."""
        held, (source, target) = self.occupancy[vm], self.transit.moving[vm]
        return [held - {target}, held, after_move(held, source, target)]

    def refusals(self, vm: NamespacedName, wish: TargetPolicy) -> tuple[NodeReasons, ...]:
        """Why each node refuses the wish, sorted by node; leaves out nodes that accept it."""
        found = []
        for item in self.transit.options(vm, wish.pin, wish.target):
            reasons = item.reasons
            if item.ok:
                step = self.step(vm, item.node, wish)
                shut = sorted(wish.closed.keys() & {*step.landings} - {item.node})
                reasons = (*([elsewhere(shut)] if shut else []), *self._against(step))
            if item.node in wish.closed:
                reasons = (wish.closed[item.node], *reasons)
            if reasons:
                found.append(NodeReasons(node=item.node, reasons=reasons))
        return tuple(found)


def _numbers(known: Mapping[str, int], names: Mapping[str, object]) -> Numbers:
    return np.array([known[name] for name in names if name in known], dtype=np.int64)
