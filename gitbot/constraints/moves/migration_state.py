"""Capacity and rules while VMs move.

KubeVirt starts the target pod before the source pod ends, and either may be the one that stays. So
both count in capacity and in the rules until the migration ends. Planner and replay try many moves:
every change can be undone (`mark`, `undo_to`), which is faster than a copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from gitbot.constraints.moves import own_wishes
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.target_nodes import (
    NodeOption,
    answer,
    node_options,
    pinned_mask,
    pinned_to,
)
from gitbot.constraints.moves.target_pod import moved_name, pinned, target_of, target_requests
from gitbot.constraints.rules.rule_tracker import MovingRules
from gitbot.constraints.rules.worsening import Moves
from gitbot.constraints.scheduler.filters import resources
from gitbot.constraints.scheduler.filters.quota import quotas_of
from gitbot.constraints.scheduler.pod_equivalence import class_of
from gitbot.constraints.scheduler.world import World
from gitbot.errors import Bug
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move
from gitbot.model.plan.problem import ANYWHERE, Pin, PlacementProblem, Target

_Undo = tuple[Callable[..., None], tuple[Any, ...]]
"""A method and its arguments. Without a reference to the MigrationState, it can be freed."""


class MigrationState:
    """World, occupancy and rules of one problem while moves start and finish. Mutable; forks.

    A started move takes source and target in capacity and in the rules, until `finish` frees the
    source or `fail` frees the target. Foreign migrations that run in the snapshot take both places
    throughout; a reservation occupies its place, too.
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
        self._home = dict(instances.homes)
        self._held: dict[NamespacedName, NamespacedName | None] = {}  # if not its source pod
        self._moving: dict[NamespacedName, tuple[str, str]] = {}
        self._started: dict[NamespacedName, NamespacedName] = {}
        self._undo: list[_Undo] = []
        self._rules = MovingRules(rules, world.state.columns, self._occupancy, self._moving)
        self._on: dict[str, set[NamespacedName]] | None = None  # made when first needed
        self._quotas = {
            namespace: quotas_of(objects, world.pods_in(namespace))
            for namespace, objects in instances.quotas.items()
        }

    @classmethod
    def of(cls, problem: PlacementProblem) -> MigrationState:
        """The state of the snapshot: running migrations and reservations occupy their places."""
        transit = cls(
            world=World.of(problem.snapshot),
            instances=Instances.of(problem.snapshot),
            rules=problem.rules,
            zone=problem.zone_key,
        )
        for reservation in sorted(problem.reservations, key=lambda item: (item.vm, item.node)):
            transit.reserve(reservation.vm, reservation.node)
        return transit

    def fork(self) -> MigrationState:
        copy = object.__new__(MigrationState)
        copy.world = self.world.fork()
        copy.instances, copy.rules, copy.zone_key = self.instances, self.rules, self.zone_key
        copy._occupancy, copy._home = dict(self._occupancy), dict(self._home)
        copy._held, copy._moving = dict(self._held), dict(self._moving)
        copy._started = dict(self._started)
        copy._undo, copy._quotas, copy._on = [], self._quotas, None
        copy._rules = self._rules.fork(copy._occupancy, copy._moving)
        return copy

    @property
    def occupancy(self) -> Occupancy:
        """VMI to the nodes where it takes a place now (a view)."""
        return MappingProxyType(self._occupancy)

    @property
    def moving(self) -> Moves:
        """The VMs whose moves have started and not ended, with source and target node (a view)."""
        return MappingProxyType(self._moving)

    def mark(self) -> int:
        """The present state, for `undo_to`."""
        return len(self._undo)

    def undo_to(self, mark: int) -> None:
        """Undo everything that was done since the mark, newest first."""
        while len(self._undo) > mark:  # what is undone notes nothing new
            undo, arguments = self._undo.pop()
            undo(self, *arguments)

    def moved(self) -> frozenset[tuple[NamespacedName, str]]:
        """The VMs that have moved, with their nodes. With cordons, this is the whole state."""
        own, held = self.instances.source_pod_of, self._held
        return frozenset((vm, self._home[vm]) for vm, pod in held.items() if pod != own(vm))

    def rules_over(self, vm: NamespacedName) -> Sequence[int]:
        """The rules with the VM as a member, as indexes in `rules`."""
        return self._rules.over(vm)

    def on(self, node: str) -> tuple[NamespacedName, ...]:
        """The VMs that take a place on a node, sorted."""
        if self._on is None:
            self._on = defaultdict(set)
            for vm, nodes in self._occupancy.items():
                for place in nodes:
                    self._on[place].add(vm)
        return tuple(sorted(self._on.get(node, ())))

    def node_of(self, vm: NamespacedName) -> str:
        """Where the VM runs now (its source while it moves); "" if it does not run."""
        return self._home.get(vm, "")

    def target_pod(self, vm: NamespacedName, added: Mapping[str, str] | None = None) -> Pod:
        """The pod that a migration of the VM would create, decoded. KeyError without VM(I)."""
        return pinned(target_of(self.instances, vm), added or {})

    def asks(self, vm: NamespacedName) -> Mapping[str, int]:
        """Requests of the target pod, of the resources that the scheduler checks; `pods` is 1."""
        return resources.asks(target_requests(self.instances, vm))

    def selector(self, pin: Pin, node: str, target: Target = ANYWHERE) -> Mapping[str, str]:
        """The addedNodeSelector of a move: the target's own labels, and those of the pin.

        The pin is hostname or zone of the node, or nothing. Its label is left out, too, if the node
        lacks it: such a move cannot be pinned.
        """
        key = {Pin.NODE: HOSTNAME, Pin.ZONE: self.zone_key}.get(pin, "")
        found = self.world.node(node)
        value = found.labels.get(key) if found else None
        return {**target.added, **({key: value} if value is not None else {})}

    def refusal(self, vm: NamespacedName, beside: Iterable[NamespacedName] = ()) -> str:
        """Why a migration of the VM cannot start now (a quota is used up); "" if it can.

        Targets of running moves, and of `beside`, count too.
        """
        if not self._quotas.get(vm.namespace):
            return ""
        under_way = [other for other in (*self._moving, *beside) if other.namespace == vm.namespace]
        pods = [self.target_pod(other) for other in sorted({vm, *under_way})]
        found = (quota.refusal(pods) for quota in self._quotas.get(vm.namespace, ()))
        return next((text for text in found if text), "")

    def landings(
        self, vm: NamespacedName, pin: Pin, node: str, target: Target = ANYWHERE
    ) -> tuple[str, ...]:
        """The nodes from which the scheduler would choose for that pin now, sorted."""
        pod = self.target_pod(vm, self.selector(pin, node, target))
        return self.world.feasible(pod.replace(attachment=None))

    def allowed(
        self, vm: NamespacedName, pin: Pin, target: Target | None = None
    ) -> tuple[str, ...]:
        """The nodes of `options` that are ok, sorted. Faster: it makes no texts or scores."""
        numbers = np.flatnonzero(self.feasible(vm, pin, target))
        return tuple(self.world.state.columns.names[number] for number in numbers)

    def feasible(self, vm: NamespacedName, pin: Pin, target: Target | None = None) -> Mask:
        """The same nodes as a mask in the order of the world's nodes."""
        if pin is Pin.NODE:
            return pinned_mask(self, vm, target or Target())
        return answer(self, vm, pin, target or Target()).ok

    def can_start_pinned(self, vm: NamespacedName, node: str) -> bool:
        """Whether a move pinned to this node may start now: `allowed` for one node."""
        pod, found = self.target_pod(vm), self.world.node(node)
        if found is None or HOSTNAME not in found.labels or node == self.node_of(vm):
            return False
        fits = not self.refusal(vm) and self.world.fits(pinned_to(pod, found), node)
        return fits and self.keeps_rules(vm, node)

    def keeps_rules(self, vm: NamespacedName, node: str) -> bool:
        """Whether no required rule gets worse if a move to this node starts now."""
        asked, number = self.world.state.columns.nowhere(), self.world.state.columns.index[node]
        asked[number] = True
        return bool(self.rule_mask(vm, asked)[number])

    def options(
        self, vm: NamespacedName, pin: Pin, target: Target | None = None
    ) -> tuple[NodeOption, ...]:
        """Every node but the VM's own, sorted by name: may the move start now, and why not.

        With Pin.ZONE and Pin.NONE a node is ok only if every node that the scheduler may choose for
        that zone (or at all) is in the target and breaks no required rule. Raises KeyError without
        VM(I).
        """
        return node_options(self, answer(self, vm, pin, target or Target()))

    def class_of(self, vm: NamespacedName) -> Hashable | None:
        """`pod_equivalence.class_of` for the VM's target pod."""
        return class_of(self.world, self.target_pod(vm))

    def wishes_about_pods(self, vm: NamespacedName) -> bool:
        """Whether the VM's own spec prefers something about other pods."""
        return own_wishes.wishes_about_pods(self.target_pod(vm))

    def missed_wishes(self, vm: NamespacedName, nodes: Sequence[str]) -> Mapping[object, str]:
        """Its wishes about other pods that one of these nodes misses, each with why."""
        return own_wishes.missed_wishes(self.world.state, self.target_pod(vm), nodes)

    def totals(self, vm: NamespacedName, numbers: Numbers) -> Numbers:
        """The scheduler's weighted sums of these nodes (by number) for the VM's target pod."""
        return self.world.totals(self.target_pod(vm), numbers)

    def start(self, vm: NamespacedName, node: str) -> None:
        """Start a move: from now on the target pod occupies its place. Nothing is checked.

        Raises Bug if the VM moves already, does not run, or is there already.
        """
        source = self._leaving(vm, node)
        self._started[vm] = self._place(vm, node)
        self._moving[vm] = (source, node)
        self._undo.append((MigrationState._not_started, (vm,)))
        self._occupy(vm, self._occupancy.get(vm, frozenset()) | {node})

    def _leaving(self, vm: NamespacedName, node: str) -> str:
        source = self.node_of(vm)
        if vm in self._moving or not source or node == source:
            raise Bug(f"BUG: start of {vm} from {source or 'nowhere'} to {node}")
        return source

    def finish(self, vm: NamespacedName) -> None:
        """The move succeeded: free the source's place; the VM runs on the target."""
        source, node = ends = self._moving.pop(vm)
        held, pod = self._pod_of(vm), self._started.pop(vm)
        self._release(held)
        self._set_home(vm, pod, node)
        self._undo.append((MigrationState._set_home, (vm, held, source)))
        self._undo.append((MigrationState._fly, (vm, ends, pod)))
        self._occupy(vm, after_move(self._occupancy[vm], source, node))

    def move(self, vm: NamespacedName, node: str) -> None:
        """`start` and `finish` in one."""
        source, held = self._leaving(vm, node), self._pod_of(vm)
        pod = self._place(vm, node)
        self._release(held)
        self._set_home(vm, pod, node)
        self._undo.append((MigrationState._set_home, (vm, held, source)))
        self._occupy(vm, after_move(self._occupancy.get(vm, frozenset()), source, node))

    def _set_home(self, vm: NamespacedName, pod: NamespacedName | None, node: str) -> None:
        self._home[vm], self._held[vm] = node, pod

    def _pod_of(self, vm: NamespacedName) -> NamespacedName | None:
        return self._held[vm] if vm in self._held else self.instances.source_pod_of(vm)

    def fail(self, vm: NamespacedName) -> None:
        """The move failed: free the target's place; the VM stays on its source."""
        ends, pod = self._moving.pop(vm), self._started.pop(vm)
        self._release(pod)
        self._undo.append((MigrationState._fly, (vm, ends, pod)))
        self._occupy(vm, self._occupancy[vm] - {ends[1]})

    def _fly(self, vm: NamespacedName, ends: tuple[str, str], pod: NamespacedName) -> None:
        self._moving[vm], self._started[vm] = ends, pod

    def _not_started(self, vm: NamespacedName) -> None:
        del self._moving[vm], self._started[vm]

    def lift(self, vm: NamespacedName) -> None:
        """Remove a VM completely, with its places in the rules, to test what would fit then."""
        uid = self.instances[vm].uid
        for node in sorted(self._occupancy.get(vm, ())):
            for pod in self.world.pods_on(node):
                if pod.labels.get(CREATED_BY) == uid:
                    self._release(pod.name)
        self._occupy(vm, frozenset())

    def reserve(self, vm: NamespacedName, node: str) -> None:
        """Take a place for a VM that another approved request will move there.

        Does nothing if the VM is unknown, takes the place already, or the node does not exist.
        """
        known = vm in self.instances and self.world.node(node) is not None
        if known and node not in self._occupancy.get(vm, frozenset()):
            self._place(vm, node)
            self._occupy(vm, self._occupancy.get(vm, frozenset()) | {node})

    def cordon(self, *nodes: str, off: bool = False) -> None:
        changed = [node for node in nodes if self.world.unschedulable(node) is off]
        self._cordon(off, *changed)
        self._undo.append((MigrationState._cordon, (not off, *changed)))

    def _cordon(self, off: bool, *nodes: str) -> None:
        (self.world.uncordon if off else self.world.cordon)(*nodes)

    def breaches(self) -> tuple[Breach, ...]:
        return self._rules.breaches(self.instances.domains)

    def worsened_by(
        self, vm: NamespacedName, node: str, *, required: bool = True
    ) -> tuple[Breach, ...]:
        """The breaches that starting this move now would add, whatever its outcome.

        Required rules only, or (`required=False`) the preferred ones only.
        """
        return tuple(
            breach
            for number in self.rules_over(vm)
            if self.rules[number].required is required
            for breach in self.rule_worsened_by(number, vm, node)
        )

    def rule_worsened_by(self, number: int, vm: NamespacedName, node: str) -> tuple[Breach, ...]:
        """The same for the rule with this index in `rules`."""
        return self._rules.worsened(number, vm, self.node_of(vm), node)

    def rule_mask(self, vm: NamespacedName, asked: Mask, only: Sequence[int] | None = None) -> Mask:
        """The nodes of `asked` where a move may start without making a rule worse."""
        return self._rules.rule_mask(vm, self.node_of(vm), asked, only)

    def _occupy(self, vm: NamespacedName, nodes: frozenset[str]) -> None:
        before = self._occupancy.get(vm, frozenset())
        self._undo.append((MigrationState._shift, (vm, nodes, before)))
        self._shift(vm, before, nodes)

    def _shift(self, vm: NamespacedName, before: frozenset[str], nodes: frozenset[str]) -> None:
        self._occupancy[vm] = nodes
        if self._on is not None:
            for node in before ^ nodes:
                (self._on[node].add if node in nodes else self._on[node].discard)(vm)
        self._rules.shift(vm, before, nodes)

    def _place(self, vm: NamespacedName, node: str) -> NamespacedName:
        # A VM that moves again has the pod of its move before as its source.
        names = (moved_name(vm), moved_name(vm, again=True))
        name = next(each for each in names if self.world.pod(each) is None)
        pod = self.target_pod(vm).replace(name=name)
        self.world.add(pod, node)
        self._undo.append((MigrationState._take_back, (pod.name,)))
        return pod.name

    def _take_back(self, pod: NamespacedName) -> None:
        self.world.remove(pod)

    def _release(self, name: NamespacedName | None) -> None:
        if name is not None and self.world.pod(name) is not None:
            node, pod = self.world.node_of(name), self.world.remove(name)
            self._undo.append((MigrationState._put_back, (pod, node)))

    def _put_back(self, pod: Pod, node: str) -> None:
        self.world.add(pod, node)
