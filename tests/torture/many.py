"""Many schedules, in batches, in one process or several."""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tests.torture.run import play
from tests.torture.schedule import schedule_of
from tests.torture.table import Cell

BATCH = 250
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Sum:
    """Of the runs of some seeds; `seconds` of processor time."""

    seeds: int = 0
    created: int = 0
    seconds: float = 0.0
    broken: list[tuple[int, str]] = field(default_factory=list)
    met: Counter[Cell] = field(default_factory=Counter)

    def add(self, other: Sum) -> None:
        self.seeds += other.seeds
        self.created += other.created
        self.seconds += other.seconds
        self.broken += other.broken
        self.met += other.met


def batch(bounds: tuple[int, int]) -> Sum:
    began, found = time.process_time(), Sum()
    for seed in range(*bounds):
        outcome = play(schedule_of(seed))
        found.seeds += 1
        found.created += outcome.created
        found.met.update(outcome.hits)
        if outcome.broken:
            found.broken.append((seed, outcome.broken))
    found.seconds = time.process_time() - began
    return found


def _collect_seldom() -> None:
    """What is imported stays; what a run leaves is small, and is collected with that of others."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def many(
    work: Callable[[tuple[int, int]], T], seeds: int, *, start: int, jobs: int, size: int = BATCH
) -> Iterator[T]:
    """What the work on each batch of seeds gives, in their order."""
    bounds = [(at, min(at + size, start + seeds)) for at in range(start, start + seeds, size)]
    if jobs == 1:
        _collect_seldom()
        yield from map(work, bounds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _collect_seldom) as pool:
        yield from pool.imap(work, bounds)
