"""The board: where VMs stand while a plan is being thought out. The planner's one door to Transit.

Transit says what may start and what a start puts at risk. The board adds the one thing that a
single question cannot see: landings of earlier moves that only the scheduler decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitbot.constraints.transit import Transit
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.constraint import Breach, Occupancy, RuleConstraint, worsened
from gitbot.model.names import NamespacedName
from gitbot.model.plan import NodeReasons
from gitbot.model.problem import Pin, Target
from gitbot.model.scheduling import HOSTNAME
from gitbot.planner.facts import Facts
from gitbot.planner.step import Step, Wish


class Board:
    """One state of all VMs. Forks are cheap; steps are taken at once, or put in flight."""

    def __init__(self, facts: Facts, transit: Transit, loose: Occupancy | None = None) -> None:
        self.facts = facts
        self.transit = transit
        self._loose: dict[NamespacedName, frozenset[str]] = dict(loose or {})

    @classmethod
    def of(cls, facts: Facts) -> Board:
        """The board of the snapshot."""
        return cls(facts, Transit.of(facts.problem))

    def fork(self) -> Board:
        """An independent copy."""
        return Board(self.facts, self.transit.fork(), self._loose)

    def cordon(self, nodes: Iterable[str]) -> None:
        """From now on these nodes are unschedulable; nodes that do not exist are passed over."""
        self.transit.cordon(*(node for node in nodes if node in self.facts.nodes))

    def after(self, steps: Iterable[Step]) -> Board:
        """The board after these steps, one after the other."""
        board = self.fork()
        for step in steps:
            board.take(step)
        return board

    def take(self, step: Step) -> None:
        """Carry out one step; nothing is asked."""
        self.launch(step)
        self.transit.finish(step.vm)

    def launch(self, step: Step) -> None:
        """Put a step in flight; nothing is asked."""
        self.transit.start(step.vm, step.node)
        if len(step.landings) > 1:
            self._loose[step.vm] = frozenset(step.landings)
        else:
            self._loose.pop(step.vm, None)

    def place(self, vm: NamespacedName) -> str:
        """Where a VM runs; "" where it runs nowhere."""
        return self.transit.node_of(vm)

    def on(self, node: str) -> tuple[NamespacedName, ...]:
        """The VMs that hold a place on a node, sorted."""
        return tuple(sorted(vm for vm, nodes in self.occupancy.items() if node in nodes))

    @property
    def occupancy(self) -> Occupancy:
        """The nodes on which each VM holds a place."""
        return self.transit.occupancy

    def places(self, vms: Iterable[NamespacedName]) -> Occupancy:
        """The occupancy, cut down to some VMs."""
        occupancy = self.transit.occupancy
        return {vm: occupancy[vm] for vm in vms if vm in occupancy}

    def key(self, movers: Sequence[NamespacedName]) -> tuple[str, ...]:
        """The places of some VMs: the identity of a state in which only they have moved."""
        return tuple(self.place(vm) for vm in movers)

    def key_after(self, movers: Sequence[NamespacedName], step: Step) -> tuple[str, ...]:
        """The key of the state after a step."""
        return tuple(step.node if vm == step.vm else self.place(vm) for vm in movers)

    def choices(self, vm: NamespacedName, wish: Wish) -> tuple[str, ...]:
        """The nodes that would take the VM now, sorted."""
        allowed = self.transit.allowed(vm, wish.pin, wish.target)
        return tuple(node for node in allowed if node not in wish.closed)

    def hopeless(self, vm: NamespacedName, wish: Wish, others: Iterable[NamespacedName]) -> bool:
        """Whether no node would take the VM even if it and these other VMs stood nowhere.

        VMs that need company or an even spread are never called hopeless: others may help them.
        """
        pod = self.transit.target_pod(vm)
        if pod.affinity.required_pods or any(item.hard for item in pod.spread):
            return False
        world = self.transit.world.fork()
        for other in {vm, *others}:
            uid = self.facts.vm_ref(other).uid
            for node in sorted(self.occupancy.get(other, ())):
                for held in world.pods_on(node):
                    if held.labels.get(CREATED_BY) == uid:
                        world.remove(held)
        wanted = self.facts.matching(wish.target) - wish.closed.keys() - {self.place(vm)}
        return wanted.isdisjoint(world.feasible(pod))

    def takes(self, step: Step) -> bool:
        """Whether a step may start in this state, wherever it lands."""
        wish = step.wish
        wanted = Target(nodes=(step.node,)) if wish.pin is Pin.NODE else wish.target
        allowed = self.transit.allowed(step.vm, wish.pin, wanted)
        return step.node in allowed and not self._against(step)

    def steps(self, vm: NamespacedName, wish: Wish) -> Iterator[Step]:
        """The lawful steps of a VM from here, best first.

        Best: least breach of preferred rules, then the scheduler's score, then the node's name.
        """
        seen: set[tuple[str, ...]] = set()
        for node in self._ranked(vm, self.choices(vm, wish), pinned=wish.pin is Pin.NODE):
            step = self._step(vm, node, wish)
            if step.landings in seen or not wish.closed.keys().isdisjoint(step.landings):
                continue
            if self.collision(vm, step.selector):
                continue
            seen.add(step.landings)
            if not self._against(step):
                yield step

    def collision(self, vm: NamespacedName, selector: Mapping[str, str]) -> str:
        """Keys that both the pin and the VM's own nodeSelector set, to other values; in words.

        KubeVirt lets the VM's own value win, so such a pin would be dropped without a word.
        """
        own = self.facts.node_selector(vm)
        return ", ".join(
            f"the move demands {key}={value}, the VM's own nodeSelector {key}={own[key]}"
            for key, value in sorted(selector.items())
            if key in own and own[key] != value
        )

    def _step(self, vm: NamespacedName, node: str, wish: Wish) -> Step:
        pinned = wish.pin is Pin.NODE
        return Step(
            vm=vm,
            source=self.place(vm),
            node=node,
            landings=(node,) if pinned else self.transit.landings(vm, wish.pin, node),
            wish=wish,
            selector=self.transit.selector(wish.pin, node),
        )

    def _ranked(self, vm: NamespacedName, nodes: tuple[str, ...], *, pinned: bool) -> list[str]:
        if len(nodes) < 2:
            return list(nodes)
        soft = [rule for rule in self.facts.rules_over(vm) if not rule.required and pinned]
        scores = self.transit.scores(vm, nodes)
        ranks = [(self._soft(soft, vm, node), -scores[node], node) for node in nodes]
        return [node for _, _, node in sorted(ranks)]

    def _soft(self, rules: Sequence[RuleConstraint], vm: NamespacedName, node: str) -> int:
        if not rules:
            return 0
        after = frozenset({node})
        return sum(total(rule, {**self.places(rule.members), vm: after}) for rule in rules)

    def _against(self, step: Step) -> tuple[str, ...]:
        """A pin that means several nodes; what earlier moves could bring, wherever they land."""
        twins = self.facts.twins.get(step.node, ())
        if twins and step.wish.pin is Pin.NODE:
            words = f"its label {HOSTNAME} is that of {', '.join(twins)} as well"
            return (f"addedNodeSelector: {words}, so no move can be pinned to it",)
        others = {vm: nodes for vm, nodes in self._loose.items() if vm != step.vm}
        return tuple(
            f"{rule.ref.id}: {breach.message} (as an earlier move is not pinned to a node)"
            for rule in self.facts.rules_over(step.vm)
            if rule.required and not rule.members.isdisjoint(others)
            for breach in _worsens(rule, self._scattered(rule, others), step)
        )

    def _scattered(self, rule: RuleConstraint, others: Occupancy) -> Occupancy:
        """Where a rule's VMs hold a place, as if each of the others stood wherever it may land."""
        beside = {vm: nodes for vm, nodes in others.items() if vm in rule.members}
        return {**self.places(rule.members), **beside}

    def refusals(self, vm: NamespacedName, wish: Wish) -> tuple[NodeReasons, ...]:
        """What each node says against the wish, sorted by node; nodes that agree are left out."""
        found = []
        for item in self.transit.options(vm, wish.pin, wish.target):
            reasons = item.reasons
            if item.ok:
                reasons = self._against(self._step(vm, item.node, wish))
            if item.node in wish.closed:
                reasons = (wish.closed[item.node], *reasons)
            if reasons:
                found.append(NodeReasons(node=item.node, reasons=reasons))
        return tuple(found)


def total(rule: RuleConstraint, occupancy: Occupancy) -> int:
    """The sum of the amounts of a rule's breaches."""
    return sum(breach.amount for breach in rule.breaches(occupancy))


def _worsens(rule: RuleConstraint, occupancy: Occupancy, step: Step) -> tuple[Breach, ...]:
    """The breaches of a rule that a step would add or make worse, in flight or after landing."""
    before = rule.breaches(occupancy)
    for node in step.landings:
        for places in ({step.source, node}, {node}):
            worse = worsened(before, rule.breaches({**occupancy, step.vm: frozenset(places)}))
            if worse:
                return worse
    return ()
