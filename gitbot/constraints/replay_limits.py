"""Whether a wave keeps the limits of parallel migrations, and moves run in their allowed times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gitbot.constraints.instances import Instances
from gitbot.constraints.replay_findings import finding
from gitbot.constraints.world import World
from gitbot.model.findings import Finding
from gitbot.model.instants import Interval, format_instant
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.problem import Goal, PlacementProblem


def foreign_moves(instances: Instances) -> tuple[tuple[str, str], ...]:
    """Source and target node of the migrations that run at the snapshot."""
    return tuple(
        (item.node, place)
        for item in instances.values()
        if item.others
        for place in sorted(item.places - {item.node})
    )


def limit_findings(
    moves: tuple[Move, ...],
    problem: PlacementProblem,
    foreign: tuple[tuple[str, str], ...],
    world: World,
) -> Iterator[Finding]:
    """All moves of a wave may run at once: slots, source nodes, target nodes, zones.

    Migrations of others count. A wave of one move keeps every limit: it waits for its slot.
    """
    if len(moves) < 2:
        return
    limits = problem.limits
    slots = max(1, limits.slots - len(foreign))
    if len(moves) > slots:
        yield finding(
            "limit", moves[-1], f"wave {moves[0].wave} has {len(moves)} moves for {slots} slots"
        )
    pairs = [*foreign, *((move.source.node, move.to.node) for move in moves)]
    sources = Counter(source for source, _ in pairs)
    targets = Counter(target for _, target in pairs)
    zones = Counter(zone for pair in pairs for zone in _zones(pair, world, problem.zone_key))
    for move in moves:
        if sources[move.source.node] > limits.per_source_node:
            words = f"{sources[move.source.node]} migrations leave {move.source.node} at once"
            yield finding("limit", move, f"{words}, at most {limits.per_source_node}")
        if targets[move.to.node] > limits.per_target_node:
            words = f"{targets[move.to.node]} migrations go to {move.to.node} at once"
            yield finding("limit", move, f"{words}, at most {limits.per_target_node}")
        for zone in sorted(_zones((move.source.node, move.to.node), world, problem.zone_key)):
            if zones[zone] > limits.per_zone:
                words = f"{zones[zone]} migrations touch zone {zone} at once"
                yield finding("limit", move, f"{words}, at most {limits.per_zone}")


def _zones(pair: tuple[str, str], world: World, key: str) -> set[str]:
    nodes = (world.node(name) for name in pair)
    return {node.labels[key] for node in nodes if node is not None and key in node.labels}


def time_findings(
    moves: tuple[Move, ...], problem: PlacementProblem, plan: PlacementPlan
) -> Iterator[Finding]:
    """Each move starts and is estimated to end in one allowed interval, outside every freeze."""
    goals = {goal.request.id: goal for goal in problem.goals}
    waves = {wave.index: wave for wave in plan.waves}
    for move in moves:
        wave = waves.get(move.wave)
        if wave is None:
            yield finding("outside-allowed-time", move, f"wave {move.wave} has no time")
            continue
        span = Interval(start=wave.starts, end=wave.starts + move.estimated_seconds)
        if span.start < problem.now:
            yield finding("outside-allowed-time", move, _when(span, "starts in the past"))
        yield from _allowed(move, span, goals.get(move.request))
        yield from _frozen(move, span, problem)


def _allowed(move: Move, span: Interval, goal: Goal | None) -> Iterator[Finding]:
    if goal is None:
        yield finding("unknown-request", move, f"the problem has no request {move.request}")
        return
    if not any(time.start <= span.start and span.end <= time.end for time in goal.request.allowed):
        yield finding(
            "outside-allowed-time",
            move,
            _when(span, f"is not inside an allowed time of {move.request}"),
        )


def _frozen(move: Move, span: Interval, problem: PlacementProblem) -> Iterator[Finding]:
    for freeze in problem.freezes:
        if move.vm.namespaced_name not in freeze.vms:
            continue
        if any(span.start < time.end and time.start < span.end for time in freeze.times):
            why = f" ({freeze.reason})" if freeze.reason else ""
            yield finding("frozen", move, _when(span, f"meets {freeze.intent.id}{why}"))


def _when(span: Interval, words: str) -> str:
    return f"{format_instant(span.start)} to {format_instant(span.end)} {words}"
