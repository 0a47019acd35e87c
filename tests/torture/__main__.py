"""Many seeds, or one: `python -m tests.torture --seeds 2000`, `--seed 17 --trace`."""

import argparse
import sys
from collections.abc import Sequence

from tests.torture.many import Sum, batch, many
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
    print(
        f"\n{total.seeds} runs, {total.created} migrations created, {len(total.broken)} broken, "
        f"{len(empty)} empty cells, {total.seconds:.1f} s of processor time "
        f"({total.seeds / total.seconds:.0f} runs a second and core)"
    )
    if empty:
        print("empty: " + ", ".join(" / ".join(cell) for cell in empty))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--first", action="store_true", help="stop at the first that is broken")
    parser.add_argument("--trace", action="store_true", help="print what happens, with --seed")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return one(given.seed, trace=given.trace)
    if given.first:
        return first(given.start, given.seeds)
    total = Sum()
    for part in many(batch, given.seeds, start=given.start, jobs=given.jobs):
        total.add(part)
    report(total, most=5)
    return 1 if total.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
