"""Many schedules, in batches, in one process or several; sums of ranges can be added."""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.torture.run import Outcome, play
from tests.torture.schedule import schedule_of
from tests.torture.table import Cell

BATCH = 250


@dataclass(slots=True, kw_only=True)
class Sum:
    """Of runs of some ranges of seeds; `seconds` of processor time.

    `digest` is the sum of a digest of what each run met, so that it is the same in any order.
    """

    ranges: list[tuple[int, int]] = field(default_factory=list)  # from, up to but not including
    digest: int = 0
    seeds: int = 0
    created: int = 0
    seconds: float = 0.0
    broken: list[tuple[int, str]] = field(default_factory=list)
    met: Counter[Cell] = field(default_factory=Counter)
    transitions: Counter[Cell] = field(default_factory=Counter)

    def add(self, other: Sum) -> None:
        for bounds in other.ranges:
            self._reach(bounds)
        self.digest = (self.digest + other.digest) % 2**128
        self.seeds += other.seeds
        self.created += other.created
        self.seconds += other.seconds
        self.broken += other.broken
        self.met += other.met
        self.transitions += other.transitions

    def _reach(self, bounds: tuple[int, int]) -> None:
        """Add a range, and join it with its neighbour. Raises ValueError for seeds added twice."""
        if any(start < bounds[1] and bounds[0] < end for start, end in self.ranges):
            raise ValueError(f"seeds {bounds[0]} to {bounds[1] - 1} are counted already")
        joined: list[tuple[int, int]] = []
        for start, end in sorted((*self.ranges, bounds)):
            follows = bool(joined) and joined[-1][1] == start
            joined.append((joined.pop()[0] if follows else start, end))
        self.ranges = joined

    def text(self) -> str:
        """As a file that `read_sum` reads."""
        plain = {
            "ranges": self.ranges,
            "digest": f"{self.digest:032x}",
            "seeds": self.seeds,
            "created": self.created,
            "seconds": self.seconds,
            "broken": self.broken,
            "met": [(*cell, count) for cell, count in sorted(self.met.items())],
            "transitions": [(*cell, count) for cell, count in sorted(self.transitions.items())],
        }
        return json.dumps(plain)


def read_sum(text: str) -> Sum:
    plain = json.loads(text)
    return Sum(
        ranges=[(start, end) for start, end in plain["ranges"]],
        digest=int(plain["digest"], 16),
        seeds=plain["seeds"],
        created=plain["created"],
        seconds=plain["seconds"],
        broken=[(seed, broken) for seed, broken in plain["broken"]],
        met=Counter({(what, how): count for what, how, count in plain["met"]}),
        transitions=Counter({(what, how): count for what, how, count in plain["transitions"]}),
    )


def digest_of(seed: int, outcome: Outcome) -> int:
    told = (
        seed,
        outcome.broken,
        sorted(outcome.hits),
        sorted(outcome.transitions),
        outcome.created,
        outcome.lines,
    )
    return int.from_bytes(hashlib.sha256(repr(told).encode()).digest()[:16])


def batch(bounds: tuple[int, int]) -> Sum:
    began, found = time.process_time(), Sum(ranges=[bounds])
    for seed in range(*bounds):
        outcome = play(schedule_of(seed))
        found.digest = (found.digest + digest_of(seed, outcome)) % 2**128
        found.seeds += 1
        found.created += outcome.created
        found.met.update(outcome.hits)
        found.transitions.update(outcome.transitions)
        if outcome.broken:
            found.broken.append((seed, outcome.broken))
    found.seconds = time.process_time() - began
    return found


def _collect_seldom() -> None:
    """What is imported stays; what a run leaves is small, and is collected with that of others."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def many(seeds: int, *, start: int = 0, jobs: int = 1) -> Iterator[Sum]:
    """The sums of batches, in their order."""
    bounds = [(at, min(at + BATCH, start + seeds)) for at in range(start, start + seeds, BATCH)]
    if jobs == 1:
        _collect_seldom()
        yield from map(batch, bounds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _collect_seldom) as pool:
        yield from pool.imap(batch, bounds)
