"""Many seeds, or one: `python -m tests.torture --seeds 2000`, `--seed 17 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture.many import Sum, many, read_sum
from tests.torture.run import play
from tests.torture.schedule import schedule_of
from tests.torture.shrink import shrunk
from tests.torture.table import missing, table


def one(seed: int, *, trace: bool) -> int:
    schedule = schedule_of(seed)
    outcome = play(schedule, trace=trace)
    print(schedule)
    print("\n".join(outcome.trace))
    print(outcome.broken or "held")
    return 1 if outcome.broken else 0


def first(start: int, seeds: int) -> int:
    for seed in range(start, start + seeds):
        broken = play(schedule_of(seed)).broken
        if broken:
            print(f"seed {seed}: {broken}")
            return 1
    return 0


def report(total: Sum, most: int) -> None:
    for seed, broken in total.broken[:most]:
        print(f"\nseed {seed}: {broken}\nshrunk to:\n{shrunk(schedule_of(seed))}")
    print(table(total.met))
    empty = missing(total.met)
    ranges = ", ".join(f"{start} to {end - 1}" for start, end in total.ranges)
    print(f"\nseeds {ranges}: digest {total.digest:032x}")
    print(
        f"{total.seeds} runs, {total.created} migrations created, {len(total.broken)} broken, "
        f"{len(empty)} empty cells, {total.seconds:.1f} s of processor time "
        f"({total.seeds / total.seconds:.0f} runs a second and core)"
    )
    if empty:
        print("empty: " + ", ".join(" / ".join(cell) for cell in empty))


def _keep(path: Path, total: Sum) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(total.text(), "utf-8")
    beside.replace(path)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--first", action="store_true", help="stop at the first that is broken")
    parser.add_argument("--trace", action="store_true", help="print what happens, with --seed")
    parser.add_argument("--every", type=int, default=0, help="say how far it is after so many")
    parser.add_argument("--save", type=Path, help="keep the sum in a file, as it grows")
    parser.add_argument("--add", type=Path, nargs="+", help="no runs: the total of such files")
    parser.add_argument("--until", type=float, default=0.0, help="seconds after which to stop")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return one(given.seed, trace=given.trace)
    if given.first:
        return first(given.start, given.seeds)
    began, total = time.monotonic(), Sum()
    for path in given.add or ():
        total.add(read_sum(path.read_text("utf-8")))
    seeds = 0 if given.add else given.seeds
    for part in many(seeds, start=given.start, jobs=given.jobs):
        total.add(part)
        if given.every and total.seeds % given.every < part.seeds:
            passed = time.monotonic() - began
            print(f"{passed:.0f} s: {total.seeds} seeds, {len(total.broken)} broken", flush=True)
            if given.save:
                _keep(given.save, total)
        if given.until and time.monotonic() - began > given.until:
            break
    if given.save:
        _keep(given.save, total)
    report(total, most=5)
    return 1 if total.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
