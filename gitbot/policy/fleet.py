"""Effects of a plan on the fleet, counted for policies.

Moves by node, zone, namespace, owner and hour; parallel moves; the memory that remains free after
all moves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.plan import Drained, Move, PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.instants import FOREVER, format_instant

HOUR = 3600
_MEMORY = "memory"


def fleet_makers(
    plan: PlacementPlan, problem: PlacementProblem, owner_of: Callable[[str], str]
) -> dict[str, Callable[[], Any]]:
    """Functions that compute each count. `owner_of` maps a namespace to its owner or ""."""
    spans = _spans(plan)
    return {
        "counts": lambda: _counts(plan, spans, owner_of),
        "quorums": lambda: list(_quorums(plan, problem, spans)),
        "zonesAtOnce": lambda: _zones_at_once(plan, problem, spans),
        "headroom": lambda: _headroom(plan, problem),
    }


def _spans(plan: PlacementPlan) -> list[tuple[int, int]]:
    """Estimated start and end of each move; a move of an older plan starts with its wave."""
    waves = {wave.index: wave.starts for wave in plan.waves}
    starts = (move.starts or waves.get(move.wave, 0) for move in plan.moves)
    moves = zip(starts, plan.moves, strict=True)
    return [(start, start + move.estimated_seconds) for start, move in moves]


def _counts(
    plan: PlacementPlan, spans: Sequence[tuple[int, int]], owner_of: Callable[[str], str]
) -> dict[str, list[dict[str, Any]]]:
    keys: Mapping[str, Callable[[Move, int], str]] = {
        "source": lambda move, _: move.source.node,
        "target": lambda move, _: move.to.node,
        "zone": lambda move, _: move.source.zone,
        "namespace": lambda move, _: move.vm.namespace,
        "owner": lambda move, _: owner_of(move.vm.namespace),
        "hour": lambda _, start: format_instant(start - start % HOUR),
    }
    return {
        name: [
            {"name": found, "moves": number}
            for found, number in sorted(
                Counter(
                    key(move, start) for move, (start, _) in zip(plan.moves, spans, strict=True)
                ).items()
            )
            if found
        ]
        for name, key in keys.items()
    }


def _together(spans: Iterable[tuple[int, int, str]]) -> Iterator[list[str]]:
    """The names that run in parallel, at each start."""
    running: list[tuple[int, str]] = []
    for start, beginning in groupby(sorted(spans), key=itemgetter(0)):
        running = [(until, other) for until, other in running if until > start]
        running += [(end, name) for _, end, name in beginning]
        yield [other for _, other in running]


def _zones_at_once(
    plan: PlacementPlan, problem: PlacementProblem, spans: Sequence[tuple[int, int]]
) -> list[str]:
    """The most zones that VMs leave at once, at the earliest such moment.

    Nodes that leave together, empty ones too, are out of service from their first move on.
    """
    left = [
        (start, end, move.source.zone)
        for move, (start, end) in zip(plan.moves, spans, strict=True)
        if move.source.zone
    ]
    for drain in (drain for drain in plan.drains if drain.together):
        mine = (span for move, span in zip(plan.moves, spans, strict=True) if _is_of(move, drain))
        first = min(mine, default=None)
        if first is not None:
            zone_of = Instances.of(problem.snapshot).domains.column(problem.zone_key)
            zones = {zone_of.get(name, "") for name in drain.emptied + drain.kept}
            left += [(first[0], FOREVER, zone) for zone in sorted(zones - {""})]
    return max((sorted(set(zones)) for zones in _together(left)), key=len, default=[])


def _is_of(move: Move, drain: Drained) -> bool:
    return move.request == drain.request


def _quorums(
    plan: PlacementPlan, problem: PlacementProblem, spans: Sequence[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """For each rule of an intent with moved members: how many it has, and how many move at once."""
    times: dict[NamespacedName, list[tuple[int, int, str]]] = defaultdict(list)
    for move, (start, end) in zip(plan.moves, spans, strict=True):
        times[move.vm.namespaced_name].append((start, end, move.vm.name))
    for rule in sorted(problem.rules, key=lambda item: item.ref):
        moved = sorted(times.keys() & rule.members) if not rule.ref.of_vm else []
        if moved:
            at_once = max(_together(span for vm in moved for span in times[vm]), key=len)
            yield {
                "rule": rule.ref.id,
                "members": len(rule.members),
                "together": len(at_once),
                "vms": sorted(at_once),
            }


def _headroom(plan: PlacementPlan, problem: PlacementProblem) -> dict[str, Any]:
    if not plan.moves:
        return {"targets": [], "atRiskBefore": [], "atRiskAfter": []}
    world = World.of(problem.snapshot)
    instances = Instances.of(problem.snapshot)
    emptied = {node for drain in plan.drains for node in drain.emptied}
    size = {node.name: node.allocatable.get(_MEMORY, 0) for node in world.nodes}
    free = {name: world.free(name).get(_MEMORY, 0) for name in size}
    vms: dict[str, dict[NamespacedName, int]] = {name: {} for name in size}
    for vm in instances:
        name = instances.source_pod_of(vm)
        pod = world.pod(name) if name is not None else None
        if name is not None and pod is not None and world.node_of(name) in vms:
            vms[world.node_of(name)][vm] = world.asks(pod).get(_MEMORY, 0)
    open_before = [name for name in size if not world.unschedulable(name)]
    before = _at_risk(free, vms, open_before)
    for move in plan.moves:
        amount = vms.get(move.source.node, {}).pop(move.vm.namespaced_name, 0)
        if amount and move.to.node in vms:
            vms[move.to.node][move.vm.namespaced_name] = amount
            free[move.source.node] += amount
            free[move.to.node] -= amount
    targets = sorted({move.to.node for move in plan.moves} & size.keys())
    return {
        "targets": [
            {"node": name, "freeBytes": free[name], "allocatableBytes": size[name]}
            for name in targets
        ],
        "atRiskBefore": before,
        "atRiskAfter": _at_risk(free, vms, [name for name in open_before if name not in emptied]),
    }


def _at_risk(
    free: Mapping[str, int], vms: Mapping[str, Mapping[NamespacedName, int]], nodes: Sequence[str]
) -> list[str]:
    """Nodes whose VMs cannot all start elsewhere if the node fails, by sums of memory alone.

    The sum must fit into the free memory of the other nodes, and the largest VM onto one of them.
    """
    total = sum(free[name] for name in nodes)
    most = sorted(((free[name], name) for name in nodes), reverse=True)[:2]
    found = []
    for name in nodes:
        asked = vms[name].values()
        room = max((amount for amount, other in most if other != name), default=0)
        if asked and (sum(asked) > total - free[name] or max(asked) > room):
            found.append(name)
    return sorted(found)
