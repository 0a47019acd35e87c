"""Many histories of Git, forge and ledger: `python -m tests.torture.histories --seeds 10000`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from unittest.mock import patch

from gitbot.policy import policy_files
from gitbot.wiring import workspace
from tests.torture.history import ACTS, BESIDE, CLASHED, FILE_ACTS, NAME_ACTS, history_of
from tests.torture.many import many
from tests.torture.telling import tell

BATCH = 50


@dataclass(slots=True, kw_only=True)
class Sum:
    """Of a batch of histories; `seconds` of processor time."""

    seeds: int = 0
    created: int = 0
    seconds: float = 0.0
    broken: list[tuple[int, str]] = field(default_factory=list)
    acts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: Sum) -> None:
        self.seeds += other.seeds
        self.created += other.created
        self.seconds += other.seconds
        self.broken += other.broken
        self.acts += other.acts
        self.refused += other.refused


@contextmanager
def reading_once() -> Iterator[None]:
    """What ships with gitbot is read and compiled once, not at every look."""
    with (
        patch.object(policy_files, "_read_file", cache(policy_files._read_file)),
        patch.object(workspace, "shipped", cache(workspace.shipped)),
    ):
        yield


def batch(bounds: tuple[int, int]) -> Sum:
    began, found = time.process_time(), Sum()
    with reading_once():
        for seed in range(*bounds):
            told = tell(history_of(seed))
            found.seeds += 1
            found.created += told.created
            found.acts += told.acts
            found.refused += told.refused
            if told.broken:
                found.broken.append((seed, told.broken))
    found.seconds = time.process_time() - began
    return found


def first(start: int, seeds: int) -> int:
    with reading_once():
        for seed in range(start, start + seeds):
            broken = tell(history_of(seed)).broken
            if broken:
                print(f"seed {seed}: {broken}")
                return 1
    return 0


def report(total: Sum) -> None:
    for seed, broken in sorted(total.broken)[:5]:
        print(f"{broken}\n{history_of(seed)}\n")
    every = (*ACTS, *FILE_ACTS, *NAME_ACTS, BESIDE, CLASHED)
    for what in every:
        print(f"{total.acts[what]:8} {what}")
    for reason, count in total.refused.most_common():
        print(f"{count:8} refused: {reason}")
    print(
        f"{total.seeds} histories, {total.acts.total()} acts, {total.created} migrations created, "
        f"{len(total.broken)} broken, {total.seconds:.0f} s of processor time"
    )
    if never := [what for what in every if not total.acts[what]]:
        print("never: " + ", ".join(never))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.histories", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, help="this one alone, with what happened")
    parser.add_argument("--first", action="store_true", help="stop at the first that is broken")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        told = tell(history_of(given.seed))
        print("\n".join((*told.lines, told.broken or "held")))
        return 1 if told.broken else 0
    if given.first:
        return first(given.start, given.seeds)
    total = Sum()
    for part in many(batch, given.seeds, start=given.start, jobs=given.jobs, size=BATCH):
        total.add(part)
    report(total)
    return 1 if total.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
