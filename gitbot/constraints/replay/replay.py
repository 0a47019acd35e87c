"""Replay: carry out a plan move by move on the snapshot and check every state.

This is an independent check. It uses no reasoning of the planner, only the scheduler's filters, the
rules' own counts, the limits and the calendar. While a move runs, both of its pods count;
moves may start and end in any order that their dependencies allow, and each may fail.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from gitbot.constraints.moves.copies import Copies
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.under_way import departing, holding_slots
from gitbot.constraints.replay.limits_check import limit_findings, time_findings
from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.replay.moved_as_one import as_planned
from gitbot.constraints.replay.moves_check import finding, move_findings, pin_findings
from gitbot.constraints.replay.rules_check import RuleWatch
from gitbot.constraints.replay.timeline import (
    PlanTimeline,
    depends_on_other_pods,
    needs_every_state,
)
from gitbot.constraints.replay.wave_states import Stages
from gitbot.constraints.rules.worsening import choices
from gitbot.constraints.scheduler.filters.quota import quotas_of
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.plan.plan import Move, PlacementPlan, VmRef
from gitbot.model.plan.problem import EmptyNodes, Pin, PlacementProblem


def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
    """What is wrong with a plan for a problem, sorted; empty for a correct plan.

    Every move is checked where it starts: its target pod fits on its node and can land only on
    allowed nodes, no required rule gets worse in any state (but for groups that a plan moves as
    one, see `companions`), limits, freezes and allowed times hold, and its pin says what the plan
    says. A drain with `lead: Auto` may move nothing before the instant that the plan says.
    """
    problem = problem.beginning(plan.begins)
    order = MoveOrder.of(plan)
    player = _Player(problem, order)
    found = [*_twice(order.moves), *order.findings()]
    foreign = holding_slots(player.instances, Copies(problem), problem.now)
    found.extend(limit_findings(order, problem, foreign, player.playback.world))
    for number in range(len(order.moves)):
        found.extend(player.move(number))
    return tuple(sorted(set(found), key=sort_key))


def _twice(moves: Sequence[Move]) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for move in moves:
        if (move.request, move.id) in seen:
            yield finding("duplicate-move", move, f"number {move.id} is given twice")
        seen.add((move.request, move.id))


class _Player:
    def __init__(self, problem: PlacementProblem, order: MoveOrder) -> None:
        self.problem = problem
        self.order = order
        self.instances = Instances.of(problem.snapshot)
        world = World.of(problem.snapshot)
        self.playback = PlanTimeline(self.instances, world, order)
        self._quotas = {
            namespace: quotas_of(objects, world.pods_in(namespace))
            for namespace, objects in sorted(self.instances.quotas.items())
        }
        self._goals = {goal.request.id: goal for goal in problem.goals}
        self._allowed = {name: goal.request.allow_breach for name, goal in self._goals.items()}
        self._hosts = grouped((node.labels.get(HOSTNAME), node.name) for node in world.nodes)
        occupancy = dict(self.instances.occupancy())
        for item in sorted(problem.reservations, key=lambda item: (item.vm, item.node)):
            held = occupancy.get(item.vm, frozenset())
            known = item.vm in self.instances and world.node(item.node) is not None
            if known and item.node not in held:
                self.playback.place(item.vm, item.node)
                occupancy[item.vm] = held | {item.node}
        self._occupancy = occupancy
        moved = {move.vm.namespaced_name for move in order.moves}
        self._final = {
            (move.request, move.vm.namespaced_name): number
            for number, move in enumerate(order.moves)
        }
        self._rules = grouped(
            (vm, number) for number, rule in enumerate(problem.rules) for vm in rule.members & moved
        )
        self._watches: dict[int, RuleWatch] = {}  # made when the first member moves
        self._of_vm: dict[VmRef, list[int]] = defaultdict(list)
        self._cordons = _cordons(problem, order)
        self._out = {
            node: goal.request
            for goal in problem.goals
            if isinstance(goal, EmptyNodes) and goal.together
            for node in goal.nodes
        }

    def move(self, number: int) -> list[Finding]:
        move = self.order.moves[number]
        vm = move.vm.namespaced_name
        goal, play = self._goals.get(move.request), self.playback
        final = self._final[move.request, vm] == number
        found = list(move_findings(move, self.instances, play.world, play.home, goal, final=final))
        before = self.order.before[number]
        if any(not before >> other & 1 for other in self._of_vm[move.vm]):
            found.append(finding("duplicate-move", move, "the VM moves twice at once"))
        sound = not found
        found.extend(time_findings(move, self.order.starts[number], self.problem, goal))
        found.extend(self._leaving_together(move))
        if sound:
            found.extend(self._quota(number))
            found.extend(pin_findings(move, self.playback.unpinned(vm)))
            found.extend(self._landing(number))
            for watch in self._watching(vm):
                found.extend(watch.findings(number))
            self.playback.start(number)
            self._of_vm[move.vm].append(number)
        return found

    def _leaving_together(self, move: Move) -> Iterator[Finding]:
        """A node of a drain in mode Together takes no VM, not even one that moves on later."""
        for node in sorted({move.to.node, *move.allowed_nodes} & self._out.keys()):
            said = f"{node} leaves service together with others: {self._out[node].id}"
            yield finding("leaves-together", move, said, hint="plan again")

    def _running(self, number: int) -> list[int]:
        """The moves that may be at any stage when this one starts."""
        return [other for other in self.order.beside(number) if other in self.playback.held]

    def _watching(self, vm: NamespacedName) -> Iterator[RuleWatch]:
        for number in self._rules.get(vm, ()):
            rule = self.problem.rules[number]
            if rule.required:
                if number not in self._watches:
                    judged = as_planned(rule, self._occupancy, self.order, self._allowed)
                    self._watches[number] = RuleWatch(judged, self._occupancy, self.order)
                yield self._watches[number]

    def _quota(self, number: int) -> Iterator[Finding]:
        move = self.order.moves[number]
        quotas = self._quotas.get(move.vm.namespace, ())
        if not quotas:
            return
        others = (self.order.moves[other].vm for other in self._running(number))
        vms = sorted({*(vm for vm in others if vm.namespace == move.vm.namespace), move.vm})
        for quota in quotas:
            refusal = quota.refusal(self.playback.unpinned(vm.namespaced_name) for vm in vms)
            if refusal:
                yield finding("quota", move, refusal)

    def _landing(self, number: int) -> Iterator[Finding]:
        """Check that the target pod fits on its node, and can land nowhere else.

        Room, ports and anti-affinity are tightest with every other move running. Pod affinity and
        topology spread are not: with such demands, the moves that they count are checked at all
        stages.
        """
        move = self.order.moves[number]
        pod = self.playback.target(move)
        hosts = self._hosts.get(move.added_node_selector.get(HOSTNAME), ())
        loose = move.pin is not Pin.NODE or len(hosts) > 1
        self.playback.look(number, everywhere=loose or depends_on_other_pods(pod))
        self._cordon(number, [move.to.node] if not loose else list(self._cordons))
        if not (loose or needs_every_state(pod)):
            yield from _refusal(move, pod, self.playback.world)
            return
        running = self._running(number)
        beside = (*running, *self.playback.coming(number, running))
        counted = tuple(other for other in beside if self.playback.counts(pod, other))
        before, moves = self.order.before, self.order.moves
        known = Counter(moves[other].vm for other in beside)
        waited = tuple(
            other
            for other in beside
            if other not in counted
            and any(before[each] >> other & 1 for each in counted)
            and known[moves[other].vm] == 1  # else the pod between its moves would be missing
        )
        stages = self.playback.stages((*counted, *waited))
        for possible in choices(len(counted)):
            if self.order.possible(counted, possible):
                begun = [each for each, stage in zip(counted, possible, strict=True) if stage]
                # a counted move has begun only if those that it waits for have ended
                rest = [
                    2 if any(before[each] >> other & 1 for each in begun) else int(other in running)
                    for other in waited
                ]
                wrong = list(_refusal(move, pod, stages.at((*possible, *rest))))
                yield from wrong
                if wrong:
                    break
        if loose:
            own = self.instances.source_pod_of(move.vm.namespaced_name)
            leaving = self._leaving - {own}  # it stays until the move has ended
            yield from _unpinned_findings(move, pod, self.playback.stages(beside), leaving)

    @cached_property
    def _leaving(self) -> frozenset[NamespacedName]:
        """The pods that may be gone before a target pod has its node; a plan may start later."""
        world = self.playback.world
        return departing(self.instances, world) if self.problem.at_once else frozenset()

    def _cordon(self, number: int, nodes: Sequence[str]) -> None:
        """Cordon nodes once a move that takes them out of service may have started."""
        back = int(self.order.moves[number].after_return)
        for node in nodes:
            before, world = self.order.before, self.playback.world
            begun = any(
                not (before[other] >> number & 1) and not (before[number] >> other & back)
                for other in self._cordons.get(node, ())
            )
            found = world.node(node)
            if begun:
                world.cordon(node)
            elif found is not None and not found.unschedulable:
                world.uncordon(node)


def _refusal(move: Move, pod: Pod, world: World) -> Iterator[Finding]:
    rejections = world.check(pod, move.to.node)
    if rejections:
        words = "; ".join(str(item) for item in rejections)
        said = f"{move.to.node} does not take it: {words}"
        yield finding("not-schedulable", move, said, hint="plan again on the cluster as it is")


def _unpinned_findings(
    move: Move, pod: Pod, stages: Stages, leaving: Collection[NamespacedName]
) -> Iterator[Finding]:
    """Nodes outside allowedNodes that the scheduler may choose.

    Before or after the other moves, and before or after these pods leave.
    """
    places: set[str] = set()
    for stage in (0, 2):
        world = stages.all_at(stage)
        places.update(world.feasible(pod))
        if leaving:
            later = world.fork()
            for name in leaving:
                if later.pod(name) is not None:  # its own move may have ended
                    later.remove(name)
            places.update(later.feasible(pod))
    strays = sorted(places - set(move.allowed_nodes))
    if strays:
        words = f"the scheduler may put it on {', '.join(strays[:3])}"
        hint = "pin the move to a node"
        yield finding("landing", move, f"{words}, which is not in its allowedNodes", hint=hint)


def _cordons(problem: PlacementProblem, order: MoveOrder) -> dict[str, tuple[int, ...]]:
    """The moves with which each node that gitbot cordons leaves service.

    These leave the node, or another one that leaves service together with it. A move that only
    makes room for them cordons nothing.
    """
    nodes = {goal.request.id: frozenset(goal.closes) for goal in problem.goals}
    leaving = grouped(
        ((move.request, move.takes_out(nodes.get(move.request, ()))), number)
        for number, move in enumerate(order.moves)
    )
    return {
        node: tuple(
            number
            for other in (goal.nodes if goal.together else (node,))
            for number in leaving.get((goal.request.id, other), ())
        )
        for goal in problem.goals
        if isinstance(goal, EmptyNodes) and goal.cordoned_by_gitbot
        for node in goal.nodes
    }
