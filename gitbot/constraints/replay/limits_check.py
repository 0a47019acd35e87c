"""Whether moves keep the limits of parallel migrations, and run in their allowed times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from gitbot.constraints.moves.under_way import HeldSlot
from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.replay.moves_check import finding
from gitbot.constraints.scheduler.world import World
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move
from gitbot.model.plan.problem import Goal, PlacementProblem
from gitbot.model.text.instants import Interval, format_instant


def limit_findings(
    order: MoveOrder, problem: PlacementProblem, foreign: tuple[HeldSlot, ...], world: World
) -> Iterator[Finding]:
    """Check slots, source nodes, target nodes and zones at each start, by estimated times.

    Foreign migrations count until their estimated ends. A move that runs alone keeps every limit:
    it waits for its slot.
    """
    running: list[tuple[int, int]] = []  # estimated end, number of the move
    for start, group in groupby(enumerate(order.starts), key=lambda item: item[1] or 0):
        running = [(end, number) for end, number in running if end > start]
        numbers = [number for number, _ in group]
        running += [(start + order.moves[n].estimated_seconds, n) for n in numbers]
        if len(running) > 1:
            together = [order.moves[number] for _, number in running]
            beside = [item for item in foreign if item.ends > start]
            yield from _crowding(
                [order.moves[n] for n in numbers], together, problem, beside, world
            )


def _crowding(
    begin: Sequence[Move],
    together: Sequence[Move],
    problem: PlacementProblem,
    foreign: Sequence[HeldSlot],
    world: World,
) -> Iterator[Finding]:
    """The limits that the starting moves exceed while all of these run together."""
    limits = problem.limits
    slots = max(1, limits.slots - len(foreign))
    if len(together) > slots:
        words = f"wave {begin[0].wave} has {len(together)} moves for {slots} slots"
        yield finding("limit", begin[-1], words)
    pairs = [(item.source, item.target) for item in foreign]
    pairs += [(move.source.node, move.to.node) for move in together]
    sources = Counter(source for source, _ in pairs)
    targets = Counter(target for _, target in pairs)
    zones = Counter(zone for pair in pairs for zone in _zones(pair, world, problem.zone_key))
    for move in begin:
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
    move: Move, start: int | None, problem: PlacementProblem, goal: Goal | None
) -> Iterator[Finding]:
    """Check the estimated time of a move. `goal` is the goal of its request."""
    if start is None:
        yield finding("outside-allowed-time", move, f"wave {move.wave} has no time")
        return
    span = Interval(start=start, end=start + move.estimated_seconds)
    if span.start < problem.now:
        yield finding("outside-allowed-time", move, _when(span, "starts in the past"))
    yield from _allowed(move, span, goal)
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
