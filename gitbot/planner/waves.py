"""Waves: moves that may run together, in any order of completion and with any one failing.

A wave is built on a board with all of its moves in flight, so that both pods of each are counted.
Nothing in a wave depends on another move of it; what does comes in a later wave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitbot.errors import Bug
from gitbot.model.instants import Interval
from gitbot.model.names import NamespacedName
from gitbot.planner.board import Board
from gitbot.planner.flight import Flight
from gitbot.planner.step import Draft, Planned
from gitbot.planner.timing import allowed_times, earliest, estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedWave:
    """The moves of one wave, and when it starts and ends (seconds UTC)."""

    planned: tuple[Planned, ...]
    starts: int
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """All waves, and the moves that found no time: (request id, VM)."""

    waves: tuple[PackedWave, ...]
    late: frozenset[tuple[str, NamespacedName]]


def pack(board: Board, drafts: Sequence[Draft]) -> Packed:
    """Put the steps of all drafts, each lawful after those before it, into waves."""
    for eager in (True, False):
        packed = _Packing(board, drafts, eager=eager).run()
        if packed is not None:
            return packed
    raise Bug("BUG: a step that was lawful in its order is not lawful in a wave of its own")


class _Packing:
    """One attempt. Eager: a move may start before moves that stand before it in the order."""

    def __init__(self, board: Board, drafts: Sequence[Draft], *, eager: bool) -> None:
        self.board = board.fork()
        self.eager = eager
        self.rest = [item for draft in drafts for item in draft.planned]
        self.lanes = {
            item.request.id: draft.lanes
            for draft in drafts
            if draft.lanes
            for item in draft.planned
        }
        self.cordons = {
            item.request.id for draft in drafts if draft.cordon for item in draft.planned
        }
        self.groups = Counter((item.request.id, item.group) for item in self.rest)
        self.begun: dict[str, set[str]] = {}
        self.clock = board.facts.problem.now
        self.waves: list[PackedWave] = []

    def run(self) -> Packed | None:
        while self.rest:
            start = self._start(self.rest[0])
            if start is None:
                return Packed(waves=tuple(self.waves), late=self._late())
            wave = self._fill(start)
            if not wave:
                return None
            self._close(wave, start)
        return Packed(waves=tuple(self.waves), late=frozenset())

    def _need(self, item: Planned) -> tuple[tuple[Interval, ...], int]:
        facts = self.board.facts
        times = allowed_times(facts.problem, item.request, item.step.vm)
        return times, estimate(facts.memory(item.step.vm), facts.problem.bandwidth)

    def _start(self, item: Planned) -> int | None:
        return earliest([self._need(item)], self.clock)

    def _late(self) -> frozenset[tuple[str, NamespacedName]]:
        return frozenset(
            (item.request.id, item.step.vm) for item in self.rest if self._start(item) is None
        )

    def _fill(self, start: int) -> list[Planned]:
        flight = Flight(self.board)
        wave: list[Planned] = []
        passed: set[NamespacedName] = set()
        coming: set[str] = set()  # nodes that earlier moves still go to
        begun = {request: set(groups) for request, groups in self.begun.items()}
        for item in self.rest:
            if flight.full:
                break
            fits = (
                item.step.vm not in passed
                and item.leaves not in coming
                and earliest([self._need(item)], start) == start
                and self._lane_free(item, begun)
                and flight.admit(item.step)
            )
            passed.add(item.step.vm)
            if fits:
                wave.append(item)
                begun.setdefault(item.request.id, set()).add(item.group)
            elif not self.eager:
                break
            coming.add(item.step.node)
        return [replace(item, step=step) for item, step in zip(wave, flight.steps, strict=True)]

    def _lane_free(self, item: Planned, begun: dict[str, set[str]]) -> bool:
        lanes = self.lanes.get(item.request.id, 0)
        groups = begun.get(item.request.id, set())
        if not lanes or item.group in groups:
            return True
        under_way = [group for group in groups if self.groups[item.request.id, group] > 0]
        return len(under_way) < lanes

    def _close(self, wave: list[Planned], start: int) -> None:
        for item in wave:
            self.rest.remove(next(each for each in self.rest if each.step.vm == item.step.vm))
            if item.request.id in self.cordons:
                self.board.cordon([item.leaves])
            self.board.take(item.step)
            self.groups[item.request.id, item.group] -= 1
            self.begun.setdefault(item.request.id, set()).add(item.group)
        ends = start + max(self._need(item)[1] for item in wave)
        self.waves.append(PackedWave(planned=tuple(wave), starts=start, ends=ends))
        self.clock = ends
