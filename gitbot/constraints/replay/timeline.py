"""The world while the moves of a plan run: which pods take a place when a move starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.target_pod import pinned, target_name, target_of
from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.replay.wave_states import Stages
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.plan import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """The places of a move: its target pod, and the pod that it replaces."""

    target: NamespacedName
    source: Pod | None


class PlanTimeline:
    """The moves so far. All of them run in `world`, with both pods.

    For a check that depends on ended moves, their source pods are removed, and added again for the
    next.
    """

    def __init__(self, instances: Instances, world: World, order: MoveOrder) -> None:
        self.world = world
        self.home = dict(instances.homes)
        self.held: dict[int, _Held] = {}
        self._instances = instances
        self._order = order
        self._pods: dict[NamespacedName, NamespacedName] = {}  # target pods of the moves so far
        self._targets: dict[NamespacedName, Pod] = {}
        self._gone: set[int] = set()  # moves whose source pod is removed
        self._leaving: dict[str, list[int]] = {}
        self._social: list[int] = []
        self._placed = 0

    def unpinned(self, vm: NamespacedName) -> Pod:
        if vm not in self._targets:
            self._targets[vm] = target_of(self._instances, vm)
        return self._targets[vm]

    def target(self, move: Move) -> Pod:
        return pinned(self.unpinned(move.vm.namespaced_name), move.added_node_selector)

    def place(self, vm: NamespacedName, node: str) -> NamespacedName:
        self._placed += 1
        pod = self.unpinned(vm).replace(name=target_name(vm, self._placed))
        self.world.add(pod, node)
        return pod.name

    def start(self, number: int) -> None:
        move = self._order.moves[number]
        vm = move.vm.namespaced_name
        old = self._pod_of(vm)
        source = self.world.pod(old) if old is not None else None
        self._pods[vm] = self.place(vm, move.to.node)
        self.held[number] = _Held(target=self._pods[vm], source=source)
        self.home[vm] = move.to.node
        self._leaving.setdefault(move.source.node, []).append(number)
        if depends_on_other_pods(self.unpinned(vm)):
            self._social.append(number)

    def _pod_of(self, vm: NamespacedName) -> NamespacedName | None:
        return self._pods.get(vm) or self._instances.source_pod_of(vm)

    def look(self, number: int, *, everywhere: bool) -> None:
        """Remove exactly the sources of the moves that have ended when this one starts.

        Only sources on its target and of VMs with terms; all of them with `everywhere`.
        """
        near = self._leaving.get(self._order.moves[number].to.node, ())
        for other in sorted({*near, *self._social} if not everywhere else self.held):
            ended = bool(self._order.before[number] >> other & 1)
            source = self.held[other].source
            if source is None or ended == (other in self._gone):
                continue
            if ended:
                self.world.remove(source)
                self._gone.add(other)
            else:
                self.world.add(source, self._order.moves[other].source.node)
                self._gone.remove(other)

    def coming(self, number: int, running: Iterable[int]) -> tuple[int, ...]:
        """Later moves that may start before this one; the next move of each VM."""
        moves = self._order.moves
        known = {moves[other].vm for other in (number, *running)}
        found = []
        for other in self._order.later(number):
            if moves[other].vm not in known and moves[other].vm.namespaced_name in self.home:
                known.add(moves[other].vm)
                found.append(other)
        return tuple(found)

    def stages(self, numbers: Sequence[int]) -> Stages:
        """The world with these moves, none of which has ended, at any stage."""
        world = self.world.fork()
        moves = [self._order.moves[number] for number in numbers]
        vms = [move.vm.namespaced_name for move in moves]
        sources = {vm: pod for vm in vms if (pod := self._pod_of(vm)) is not None}
        for number, move in zip(numbers, moves, strict=True):
            held = self.held.get(number)
            if held is not None:
                world.remove(held.target)
                del sources[move.vm.namespaced_name]
                if held.source is not None:
                    sources[move.vm.namespaced_name] = held.source.name
        targets = {move.vm.namespaced_name: self.target(move) for move in moves}
        return Stages(world, moves, targets=targets, sources=sources)

    def counts(self, pod: Pod, number: int) -> bool:
        """Whether a term of the pod selects a pod of that move, in any namespace."""
        vm = self._order.moves[number].vm.namespaced_name
        found = self._instances.get(vm)
        source = found.source_pod if found is not None else None
        labels = [self.unpinned(vm).labels, labels_of(source or {})]
        selectors = [term.selector for term in pod.affinity.required_pods]
        selectors += [item.selector for item in pod.spread if item.hard]
        return any(selector.matches(each) for selector in selectors for each in labels)


def depends_on_other_pods(pod: Pod) -> bool:
    """Whether the pod's own required terms depend on pods of other VMs."""
    own = (CREATED_BY, pod.labels.get(CREATED_BY, ""))
    return needs_every_state(pod) or any(
        term.selector.one_label != own for term in pod.affinity.required_anti
    )


def needs_every_state(pod: Pod) -> bool:
    """Whether this pod can be refused because another leaves: pod affinity and topology spread."""
    return bool(pod.affinity.required_pods or any(item.hard for item in pod.spread))
