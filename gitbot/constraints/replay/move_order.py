"""Which moves of a plan have ended when another starts, in any order of ends.

The moves are in one order that their dependencies allow. Every state that the plan can reach has
a last started move in this order: the moves that it waits for have ended, later moves have not
started, and each of the others is at any stage. So it is enough to check every move once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gitbot.constraints.replay.moves_check import finding
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move, MoveRef, PlacementPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOrder:
    """Moves in the order of their starts; `starts` in seconds UTC, None if a wave has no time.

    Bit i of `before[n]` says that move i has always ended when move n starts.
    """

    moves: tuple[Move, ...]
    starts: tuple[int | None, ...]
    before: tuple[int, ...]

    @classmethod
    def of(cls, plan: PlacementPlan) -> MoveOrder:
        waves = {wave.index: wave.starts for wave in plan.waves}
        timed = sorted(
            ((move.starts or waves.get(move.wave), move) for move in plan.moves),
            key=lambda item: (item[0] or 0, item[1].wave, item[1].ref),
        )
        moves = tuple(move for _, move in timed)
        return cls(moves=moves, starts=tuple(start for start, _ in timed), before=_before(moves))

    def ended(self, number: int) -> tuple[int, ...]:
        return tuple(bits(self.before[number]))

    def beside(self, number: int) -> tuple[int, ...]:
        """Earlier moves that may be at any stage when this one starts."""
        return tuple(bits(((1 << number) - 1) & ~self.before[number]))

    def later(self, number: int) -> tuple[int, ...]:
        """Later moves that do not wait for this one."""
        rest = range(number + 1, len(self.moves))
        return tuple(other for other in rest if not self.before[other] >> number & 1)

    def possible(self, numbers: tuple[int, ...], stages: Iterable[int]) -> bool:
        """Whether these moves can be at these stages together: 0 waits, 1 runs, 2 has ended."""
        known = dict(zip(numbers, stages, strict=True))
        return all(
            known[first] == 2
            for other, stage in known.items()
            if stage
            for first in known
            if self.before[other] >> first & 1
        )

    def findings(self) -> Iterator[Finding]:
        """Moves whose estimated start is before the end of a move that they wait for."""
        known = {move.ref: move for move in self.moves}
        leaving = grouped(((move.request, move.source.node), move) for move in self.moves)
        starts = {move.ref: start or 0 for move, start in zip(self.moves, self.starts, strict=True)}
        for move in self.moves:
            first = [known[ref] for ref in move.after or () if ref in known]
            if move.after_return:
                first += leaving.get((move.request, move.to.node), ())
            for other in first:
                if starts[other.ref] + other.estimated_seconds > starts[move.ref]:
                    yield finding("order", move, f"it starts before move {other.id} ends")


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    while mask:  # each round clears its lowest bit
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _before(moves: tuple[Move, ...]) -> tuple[int, ...]:
    known: dict[MoveRef, int] = {}
    waves: dict[int, int] = defaultdict(int)
    leaving: dict[tuple[str, str], list[int]] = defaultdict(list)
    found: list[int] = []
    for number, move in enumerate(moves):
        if move.after is None:
            mask = sum(mask for wave, mask in waves.items() if wave < move.wave)
        else:
            mask = 0
            for ref in move.after:
                first = known.get(ref)
                mask |= 0 if first is None else 1 << first | found[first]
        if move.after_return:
            for first in leaving[move.request, move.to.node]:
                mask |= 1 << first | found[first]
        found.append(mask)
        known[move.ref] = number
        waves[move.wave] |= 1 << number
        leaving[move.request, move.source.node].append(number)
    return tuple(found)
