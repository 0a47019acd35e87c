"""Whether every VM finds another place after any single loss, before and after a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from gitbot.constraints.failure.node_loss import LossSimulation, NodeLoss, VmFilter
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.plan.plan import LossLevel, PlacementPlan, Resilience, UnplaceableAfterLoss
from gitbot.model.plan.problem import EmptyNodes, Goal

_FIRST = 3


def resilience(
    snapshot: ClusterSnapshot,
    plan: PlacementPlan,
    *,
    goals: Iterable[Goal] = (),
    levels: Sequence[LossLevel],
    namespaces: Sequence[str] = ("*",),
) -> tuple[Resilience, ...]:
    """For each level, its losses that leave a VM without a place, before and after the plan.

    VMs in namespaces that match no pattern take room and are not counted.
    """

    def about(vm: NamespacedName) -> bool:
        return any(fnmatchcase(vm.namespace, pattern) for pattern in namespaces)

    before, instances = LossSimulation(snapshot), Instances.of(snapshot)
    places = {
        move.vm.namespaced_name: move.to.node
        for move in plan.moves  # an approved plan may be old: its VM or node may no longer exist
        if move.vm.namespaced_name in instances and move.to.node in instances.nodes
    }
    closed = _closed(plan, goals, instances.nodes)
    after = LossSimulation(snapshot, places=places, closed=closed) if places or closed else before
    found = []
    for level in levels:
        now = _homeless(before, _groups(before, snapshot, level), about)
        then = now
        if after is not before:
            then = _homeless(after, _groups(after, snapshot, level), about)
        found.append(Resilience(level=level, before=now, after=then))
    return tuple(found)


def _closed(
    plan: PlacementPlan, goals: Iterable[Goal], known: Mapping[str, object]
) -> tuple[str, ...]:
    """The nodes that are still out of service after the last move of a drain.

    If nodes return within the plan, those are the last that it empties.
    """
    drains = {goal.request.id: goal for goal in goals if isinstance(goal, EmptyNodes)}
    last: dict[str, int] = {}
    for move in plan.moves:
        last[move.source.node] = max(move.wave, last.get(move.source.node, 0))
    found: list[str] = []
    for drain in plan.drains:
        goal = drains.get(drain.request)
        emptied = sorted(drain.emptied, key=lambda node: (last.get(node, -1), node))
        away = len(emptied) if goal is None or goal.away is None else goal.max_nodes_at_once
        found += emptied[len(emptied) - min(away, len(emptied)) :]
    return tuple(node for node in sorted(set(found)) if node in known)


def _groups(
    losses: LossSimulation, snapshot: ClusterSnapshot, level: LossLevel
) -> dict[str, list[str]]:
    """The nodes that are lost together, by the name of the loss."""
    if level == "Node":
        return {node: [node] for node in losses.occupied}
    by_zone: dict[str, list[str]] = {}
    for node, zone in sorted(Instances.of(snapshot).domains.column(ZONE).items()):
        by_zone.setdefault(zone, []).append(node)
    return dict(sorted(by_zone.items()))


def _homeless(
    losses: LossSimulation, groups: Mapping[str, Sequence[str]], about: VmFilter
) -> tuple[UnplaceableAfterLoss, ...]:
    names = {tuple(nodes): name for name, nodes in groups.items()}
    return tuple(
        _told(names[loss.nodes], loss, about) for loss in losses.not_survived(names, about)
    )


def _told(name: str, loss: NodeLoss, about: VmFilter) -> UnplaceableAfterLoss:
    pending = [item for item in loss.pending if about(item.vm)]
    why = next((item.why for item in loss.pending if item.why), "")
    first = tuple(str(item.vm) for item in pending[:_FIRST])
    return UnplaceableAfterLoss(lost=name, vms=len(pending), first=first, why=why)
