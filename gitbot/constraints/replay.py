"""Replay: carry out a plan wave by wave on the snapshot and check every instant.

A second pair of eyes: nothing of the planner's reasoning is used, only the scheduler's filters,
the rules' own counts, the limits and the calendar. Both pods of a move hold their place while its
wave runs; moves of a wave may start and end in any order, and each may fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, product

from gitbot.constraints.instances import Instances
from gitbot.constraints.kubevirt_target import pinned, target_name, target_of
from gitbot.constraints.quota import quotas_of
from gitbot.constraints.replay_findings import finding
from gitbot.constraints.replay_limits import foreign_moves, limit_findings, time_findings
from gitbot.constraints.replay_moves import move_findings, pin_findings
from gitbot.constraints.replay_rules import rule_findings
from gitbot.constraints.world import World
from gitbot.model.findings import Finding, sort_key
from gitbot.model.names import NamespacedName
from gitbot.model.objects import name_of
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.pod import Pod
from gitbot.model.problem import EmptyNodes, PlacementProblem

_MOST_STATES = 5  # other moves of a wave whose stages are all combined


def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
    """What is wrong with a plan for a problem, sorted; empty for a plan that keeps the law.

    Every move is checked where it starts: its target pod fits on its node and can land nowhere but
    on allowed nodes, no required rule is worsened at any instant, limits, freezes and allowed
    times hold, and its pin says what the plan says.
    """
    player = _Player(problem)
    found: list[Finding] = []
    moves = sorted(plan.moves, key=lambda move: (move.wave, move.request, move.id))
    found.extend(_twice(moves))
    for _, group in groupby(moves, key=lambda move: move.wave):
        found.extend(player.wave(tuple(group), plan))
    return tuple(sorted(set(found), key=sort_key))


def _twice(moves: Sequence[Move]) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for move in moves:
        if (move.request, move.id) in seen:
            yield finding("duplicate-move", move, f"number {move.id} is given twice")
        seen.add((move.request, move.id))


class _Player:
    """The cluster between two waves."""

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.instances = Instances.of(problem.snapshot)
        self.world = World.of(problem.snapshot)
        self.home = {vm: item.node for vm, item in self.instances.items() if item.node}
        self.occupancy = dict(self.instances.occupancy())
        self.pods = {
            vm: name_of(item.source_pod)
            for vm, item in self.instances.items()
            if item.source_pod is not None
        }
        self._targets: dict[NamespacedName, Pod] = {}
        self._foreign = foreign_moves(self.instances)
        self._quotas = {
            namespace: quotas_of(objects, self.world.pods_in(namespace))
            for namespace, objects in sorted(self.instances.quotas.items())
        }
        self._placed = 0
        for reservation in sorted(problem.reservations, key=lambda item: (item.vm, item.node)):
            self._reserve(reservation.vm, reservation.node)

    def wave(self, moves: tuple[Move, ...], plan: PlacementPlan) -> list[Finding]:
        """Check one wave and carry it out."""
        self._cordon(moves)
        found: list[Finding] = []
        sound: list[Move] = []
        for move in moves:
            wrong = list(move_findings(move, self.instances, self.world, self.home))
            if any(item.vm == move.vm for item in sound):
                wrong.append(finding("duplicate-move", move, "the VM moves twice in one wave"))
            found.extend(wrong)
            if not wrong:
                sound.append(move)
        found.extend(limit_findings(moves, self.problem, self._foreign, self.world))
        found.extend(time_findings(moves, self.problem, plan))
        found.extend(self._quota(sound))
        found.extend(self._landings(tuple(sound)))
        found.extend(rule_findings(tuple(sound), self.problem.rules, self.occupancy))
        for move in sound:
            self._carry_out(move)
        return found

    def _quota(self, moves: Sequence[Move]) -> Iterator[Finding]:
        """The quota of each namespace has room for all target pods of the wave at once."""
        for namespace, quotas in self._quotas.items():
            ours = [move for move in moves if move.vm.namespace == namespace]
            pods = [self._unpinned(move.vm.namespaced_name) for move in ours]
            for quota in quotas:
                refusal = quota.refusal(pods) if ours else ""
                if refusal:
                    yield finding("quota", ours[-1], refusal)

    def _cordon(self, moves: Iterable[Move]) -> None:
        """Nodes that gitbot cordons are unschedulable from the first move of their group on."""
        groups = {move.group for move in moves}
        for goal in self.problem.goals:
            if isinstance(goal, EmptyNodes) and goal.cordoned_by_gitbot:
                begun = [node for node in goal.nodes if goal.group_of(node) in groups]
                self.world.cordon(*(node for node in begun if self.world.node(node) is not None))

    def _landings(self, moves: tuple[Move, ...]) -> Iterator[Finding]:
        pods = {move.vm.namespaced_name: self._target(move) for move in moves}
        for move in moves:
            yield from pin_findings(move, self._unpinned(move.vm.namespaced_name))
            others = [other for other in moves if other is not move]
            yield from self._fits(move, pods, others)
            yield from self._strays(move, pods, others)

    def _target(self, move: Move) -> Pod:
        return pinned(self._unpinned(move.vm.namespaced_name), move.added_node_selector)

    def _unpinned(self, vm: NamespacedName) -> Pod:
        if vm not in self._targets:
            self._targets[vm] = target_of(self.instances, vm)
        return self._targets[vm]

    def _fits(
        self, move: Move, pods: dict[NamespacedName, Pod], others: Sequence[Move]
    ) -> Iterator[Finding]:
        """The target pod fits on its node in every state that the wave can be in.

        Room, ports and anti-affinity are hardest with every other move under way. Pod affinity and
        topology spread are not, so pods with such demands are asked in all states.
        """
        pod = pods[move.vm.namespaced_name]
        delicate = bool(pod.affinity.required_pods or any(item.hard for item in pod.spread))
        for stages in _stages(len(others), every=delicate):
            world = self._state(others, stages, pods)
            rejections = world.check(pod, move.to.node)
            if rejections:
                words = "; ".join(str(item) for item in rejections)
                yield finding(
                    "not-schedulable",
                    move,
                    f"{move.to.node} does not take it: {words}",
                    hint="plan again on the cluster as it is",
                )
                return

    def _strays(
        self, move: Move, pods: dict[NamespacedName, Pod], others: Sequence[Move]
    ) -> Iterator[Finding]:
        """Nodes outside allowedNodes that the scheduler may choose: before, or after the others."""
        pod = pods[move.vm.namespaced_name]
        places: set[str] = set()
        for stage in (0, 2) if others else (0,):
            places.update(self._state(others, [stage] * len(others), pods).feasible(pod))
        strays = sorted(places - set(move.allowed_nodes))
        if strays:
            yield finding(
                "landing",
                move,
                f"the scheduler may put it on {', '.join(strays[:3])}, which is not in its "
                "allowedNodes",
                hint="pin the move to a node",
            )

    def _state(
        self, others: Sequence[Move], stages: Sequence[int], pods: dict[NamespacedName, Pod]
    ) -> World:
        """The world with each other move not started (0), under way (1) or done (2)."""
        world = self.world.fork()
        for other, stage in zip(others, stages, strict=True):
            vm = other.vm.namespaced_name
            if stage:
                world.add(replace(pods[vm], name=target_name(vm, 0)), other.to.node)
            if stage == 2 and vm in self.pods:
                world.remove(self.pods[vm])
        return world

    def _carry_out(self, move: Move) -> None:
        vm = move.vm.namespaced_name
        if vm in self.pods:
            self.world.remove(self.pods[vm])
        self.pods[vm] = self._place(vm, move.to.node)
        self.home[vm] = move.to.node
        rest = self.occupancy.get(vm, frozenset()) - {move.source.node}
        self.occupancy[vm] = rest | {move.to.node}

    def _place(self, vm: NamespacedName, node: str) -> NamespacedName:
        self._placed += 1
        pod = replace(self._unpinned(vm), name=target_name(vm, self._placed))
        self.world.add(pod, node)
        return pod.name

    def _reserve(self, vm: NamespacedName, node: str) -> None:
        held = self.occupancy.get(vm, frozenset())
        if vm in self.instances and self.world.node(node) is not None and node not in held:
            self._place(vm, node)
            self.occupancy[vm] = held | {node}


def _stages(count: int, *, every: bool) -> Iterator[Sequence[int]]:
    if not every:
        yield [1] * count
    elif count <= _MOST_STATES:
        yield from product((0, 1, 2), repeat=count)
    else:
        for usual in (0, 1, 2):
            yield [usual] * count
            for place in range(count):
                for other in (0, 1, 2):
                    yield [other if number == place else usual for number in range(count)]
