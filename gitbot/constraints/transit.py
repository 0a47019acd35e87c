"""Capacity and rules while VMs move: both pods of a migration hold their place until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from gitbot.constraints.instances import Instances
from gitbot.constraints.kubevirt_target import pinned, target_name, target_of
from gitbot.constraints.landing import Answers, answer
from gitbot.constraints.quota import quotas_of
from gitbot.constraints.rule_check import Envelope, Moves, envelope, exceeding
from gitbot.constraints.whole_state import WholeState
from gitbot.constraints.world import World
from gitbot.errors import Bug
from gitbot.model.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.names import NamespacedName
from gitbot.model.objects import name_of
from gitbot.model.pod import Pod
from gitbot.model.problem import Pin, PlacementProblem, Target
from gitbot.model.scheduling import HOSTNAME


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOption:
    """One node's answer to a move that would start now.

    `ok`: the move may start with this node. `schedulable`: the scheduler accepts the target pod
    here (rules aside). `reasons`: one line for each rejecting plugin or rule. `score`: the
    scheduler's weighted sum among all schedulable nodes; 0 where not schedulable.
    """

    node: str
    ok: bool
    schedulable: bool
    reasons: tuple[str, ...] = ()
    score: int = 0


class Transit:
    """World, occupancy and rules of one problem while moves start and finish. Mutable; forks.

    A move that was started holds source and target in capacity and in the rules, until `finish`
    (the source is given back) or `fail` (the target is given back). Migrations that others run at
    the snapshot hold both places throughout, and so does a reservation.
    """

    world: World
    instances: Instances
    rules: tuple[RuleConstraint, ...]
    zone_key: str

    def __init__(
        self, *, world: World, instances: Instances, rules: tuple[RuleConstraint, ...], zone: str
    ) -> None:
        self.world = world
        self.instances = instances
        self.rules = rules
        self.zone_key = zone
        self._occupancy = dict(instances.occupancy())
        self._home = {name: item.node for name, item in instances.items() if item.node}
        self._held = {
            name: name_of(item.source_pod)
            for name, item in instances.items()
            if item.source_pod is not None
        }
        self._moving: dict[NamespacedName, tuple[str, str]] = {}
        self._started: dict[NamespacedName, NamespacedName] = {}
        self._targets: dict[NamespacedName, Pod] = {}
        self._count = 0
        self._envelopes: dict[int, Envelope] = {}
        self._whole: WholeState | None = None  # made when all breaches are first asked for
        self._quotas = {
            namespace: quotas_of(objects, world.pods_in(namespace))
            for namespace, objects in instances.quotas.items()
        }

    @classmethod
    def of(cls, problem: PlacementProblem) -> Transit:
        """The state at the snapshot: running migrations hold both places, reservations count."""
        transit = cls(
            world=World.of(problem.snapshot),
            instances=Instances.of(problem.snapshot),
            rules=problem.rules,
            zone=problem.zone_key,
        )
        for reservation in sorted(problem.reservations, key=lambda item: (item.vm, item.node)):
            transit.reserve(reservation.vm, reservation.node)
        return transit

    def fork(self) -> Transit:
        """An independent copy, cheap."""
        copy = object.__new__(Transit)
        copy.world = self.world.fork()
        copy.instances, copy.rules, copy.zone_key = self.instances, self.rules, self.zone_key
        copy._occupancy, copy._home = dict(self._occupancy), dict(self._home)
        copy._held, copy._moving = dict(self._held), dict(self._moving)
        copy._started, copy._count = dict(self._started), self._count
        copy._quotas = self._quotas
        copy._targets = self._targets  # shared by all forks: made from the snapshot alone
        copy._envelopes = dict(self._envelopes)
        copy._whole = self._whole.fork() if self._whole is not None else None
        return copy

    @property
    def occupancy(self) -> Occupancy:
        """VMI to the nodes where it holds a place now (a view)."""
        return MappingProxyType(self._occupancy)

    @property
    def moving(self) -> Moves:
        """The VMs that were started and have not ended, with source and target node (a view)."""
        return MappingProxyType(self._moving)

    def node_of(self, vm: NamespacedName) -> str:
        """Where the VM runs now (its source while it moves); "" where it does not run."""
        return self._home.get(vm, "")

    def zone_of(self, node: str) -> str:
        """The zone of a node, "" where it has none or does not exist."""
        found = self.world.node(node)
        return found.labels.get(self.zone_key, "") if found else ""

    def target_pod(self, vm: NamespacedName, added: Mapping[str, str] | None = None) -> Pod:
        """The pod that a migration of the VM would create, decoded. KeyError: no such VM(I)."""
        pod = self._targets.get(vm)
        if pod is None:
            pod = self._targets[vm] = target_of(self.instances, vm)
        return pinned(pod, added or {})

    def selector(self, pin: Pin, node: str) -> Mapping[str, str]:
        """The addedNodeSelector that pins a move: hostname or zone of the node, or nothing.

        Empty also where the node lacks the label: then the move cannot be pinned.
        """
        key = {Pin.NODE: HOSTNAME, Pin.ZONE: self.zone_key}.get(pin, "")
        found = self.world.node(node)
        value = found.labels.get(key) if found else None
        return {key: value} if value is not None else {}

    def refusal(self, vm: NamespacedName) -> str:
        """Why a migration of the VM may start nowhere now (a quota is used up); "" where it may.

        Targets of moves under way count beside it.
        """
        under_way = [other for other in self._moving if other.namespace == vm.namespace]
        pods = [self.target_pod(other) for other in sorted({vm, *under_way})]
        found = (quota.refusal(pods) for quota in self._quotas.get(vm.namespace, ()))
        return next((text for text in found if text), "")

    def landings(self, vm: NamespacedName, pin: Pin, node: str) -> tuple[str, ...]:
        """The nodes among which the scheduler chooses for that pin now, sorted."""
        return self.world.feasible(self.target_pod(vm, self.selector(pin, node)))

    def allowed(
        self, vm: NamespacedName, pin: Pin, target: Target | None = None
    ) -> tuple[str, ...]:
        """The nodes of `options` that are ok, sorted, without words and scores: the fast way."""
        names = self.world.state.columns.names
        ok = answer(self, vm, pin, target or Target()).ok
        return tuple(names[number] for number in np.flatnonzero(ok))

    def options(
        self, vm: NamespacedName, pin: Pin, target: Target | None = None
    ) -> tuple[NodeOption, ...]:
        """Every node but the VM's own, sorted by name: may the move start now, and why not.

        With Pin.ZONE and Pin.NONE a node is ok only where every node that the scheduler may choose
        for that zone (or at all) lies in the target and breaks no required rule. KeyError: no such
        VM(I).
        """
        answers = answer(self, vm, pin, target or Target())
        totals = self._totals(vm, answers)
        own = self.node_of(vm)
        return tuple(
            NodeOption(
                node=name,
                ok=bool(answers.ok[number]),
                schedulable=bool(answers.schedulable[number]),
                reasons=() if answers.ok[number] else answers.reasons(number),
                score=totals.get(name, 0),
            )
            for number, name in enumerate(self.world.state.columns.names)
            if name != own
        )

    def scores(self, vm: NamespacedName, nodes: tuple[str, ...]) -> Mapping[str, int]:
        """The scheduler's weighted sums of these nodes for the VM's target pod."""
        return {item.node: item.total for item in self.world.scores(self.target_pod(vm), nodes)}

    def start(self, vm: NamespacedName, node: str) -> None:
        """Start a move: the target pod holds its place from now on. Nothing is asked.

        Bug where the VM moves already, does not run, or is there already.
        """
        source = self.node_of(vm)
        if vm in self._moving or not source or node == source:
            raise Bug(f"BUG: start of {vm} from {source or 'nowhere'} to {node}")
        self._started[vm] = self._place(vm, node)
        self._moving[vm] = (source, node)
        self._occupy(vm, self._occupancy.get(vm, frozenset()) | {node})

    def finish(self, vm: NamespacedName) -> None:
        """The move succeeded: the source's place is free, the VM runs on the target."""
        source, node = self._moving.pop(vm)
        self._release(self._held.get(vm))
        self._held[vm], self._home[vm] = self._started.pop(vm), node
        self._occupy(vm, self._occupancy[vm] - {source})

    def fail(self, vm: NamespacedName) -> None:
        """The move failed: the target's place is free, the VM stays on its source."""
        _, node = self._moving.pop(vm)
        self._release(self._started.pop(vm))
        self._occupy(vm, self._occupancy[vm] - {node})

    def reserve(self, vm: NamespacedName, node: str) -> None:
        """Hold a place for a VM that another approved request will move there.

        Without effect where the VM is unknown, holds the place already, or the node is gone.
        """
        known = vm in self.instances and self.world.node(node) is not None
        if known and node not in self._occupancy.get(vm, frozenset()):
            self._place(vm, node)
            self._occupy(vm, self._occupancy.get(vm, frozenset()) | {node})

    def cordon(self, *nodes: str) -> None:
        """From now on these nodes are unschedulable."""
        self.world.cordon(*nodes)

    def breaches(self) -> tuple[Breach, ...]:
        """The breaches of all rules in this state, sorted."""
        if self._whole is None:
            self._whole = WholeState(self.instances.domains, self.rules, self._occupancy)
        return self._whole.breaches(self.occupancy)

    def worsened_by(
        self, vm: NamespacedName, node: str, *, required: bool = True
    ) -> tuple[Breach, ...]:
        """What the rules would lose if the VM started to move to a node now, however it ends.

        Required rules only, or (`required=False`) the preferred ones only.
        """
        return tuple(
            breach
            for number, rule in enumerate(self.rules)
            if rule.required is required and vm in rule.members
            for breach in self.rule_worsened_by(number, vm, node)
        )

    def rule_worsened_by(self, number: int, vm: NamespacedName, node: str) -> tuple[Breach, ...]:
        """The same for the rule of one number in `rules`."""
        rule = self.rules[number]
        held = self._occupancy.get(vm, frozenset())
        after = envelope(
            rule,
            {**self._occupancy, vm: held | {node}},
            {**self._moving, vm: (self.node_of(vm), node)},
        )
        return exceeding(self._envelope(number), after)

    def _envelope(self, number: int) -> Envelope:
        found = self._envelopes.get(number)
        if found is None:
            found = envelope(self.rules[number], self._occupancy, self._moving)
            self._envelopes[number] = found
        return found

    def _occupy(self, vm: NamespacedName, nodes: frozenset[str]) -> None:
        self._occupancy[vm] = nodes
        if self._whole is not None:
            self._whole.occupy(vm, nodes)
        for number, rule in enumerate(self.rules):
            if vm in rule.members:
                self._envelopes.pop(number, None)

    def _place(self, vm: NamespacedName, node: str) -> NamespacedName:
        self._count += 1
        pod = replace(self.target_pod(vm), name=target_name(vm, self._count))
        self.world.add(pod, node)
        return pod.name

    def _release(self, pod: NamespacedName | None) -> None:
        if pod is not None and self.world.pod(pod) is not None:
            self.world.remove(pod)

    def _totals(self, vm: NamespacedName, answers: Answers) -> Mapping[str, int]:
        names = self.world.state.columns.names
        return self.scores(vm, tuple(names[n] for n in np.flatnonzero(answers.schedulable)))
