"""Many schedules, in batches, in one process or several."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.torture.run import play
from tests.torture.schedule import schedule_of
from tests.torture.table import Cell

BATCH = 250


@dataclass(slots=True, kw_only=True)
class Sum:
    """Of a batch of runs; `seconds` of processor time."""

    seeds: int = 0
    created: int = 0
    seconds: float = 0.0
    broken: list[tuple[int, str]] = field(default_factory=list)
    met: Counter[Cell] = field(default_factory=Counter)
    transitions: Counter[Cell] = field(default_factory=Counter)

    def add(self, other: Sum) -> None:
        self.seeds += other.seeds
        self.created += other.created
        self.seconds += other.seconds
        self.broken += other.broken
        self.met += other.met
        self.transitions += other.transitions


def batch(bounds: tuple[int, int]) -> Sum:
    began, found = time.process_time(), Sum()
    for seed in range(*bounds):
        outcome = play(schedule_of(seed))
        found.seeds += 1
        found.created += outcome.created
        found.met.update(outcome.hits)
        found.transitions.update(outcome.transitions)
        if outcome.broken:
            found.broken.append((seed, outcome.broken))
    found.seconds = time.process_time() - began
    return found


def many(seeds: int, *, start: int = 0, jobs: int = 1) -> Iterator[Sum]:
    """The sums of batches, as they are done."""
    bounds = [(at, min(at + BATCH, start + seeds)) for at in range(start, start + seeds, BATCH)]
    if jobs == 1:
        yield from map(batch, bounds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(batch, bounds)
