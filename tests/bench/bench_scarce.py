"""Small clusters nearly full, one node emptied: how near to their lower bounds the plans are.

6 to 15 nodes with 3 to 12 VMs each in three zones, 88 to 95 % full, up to 60 % of the VMs apart in
threes, drawn by a seed. Draws that do not fit are left out.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gitbot.model.plan.plan import PlacementPlan
from gitbot.planner import make_plan
from tests.bench.bench_maintenance import parsed, timed
from tests.bench.instance import GIB, Instance, Outcome, moves_of, problem
from tests.bench.instances import filled
from tests.bench.table import Figure, ms, show

SEEDS = 100
_SIZES = ((4, 8, 16), (8, 16, 32), (3, 5, 7, 11), (4, 8, 8, 16, 16, 16, 32, 64), (6, 10, 14, 22))


def scarce(seed: int) -> Instance | None:
    """The cluster of a seed; None if it cannot be drawn, or lacks the bytes."""
    draw = random.Random(seed)
    nodes, each = draw.choice((6, 8, 10, 12, 15)), draw.choice((3, 4, 6, 8, 12))
    fill, sizes = draw.choice((0.88, 0.90, 0.92, 0.94, 0.95)), draw.choice(_SIZES)
    vms = nodes * each
    memory = [draw.choice(sizes) * GIB for _ in range(vms)]
    room = int(sum(memory) / fill / nodes)
    zone = [number % 3 for number in range(nodes)]
    grouped = vms * draw.choice((0, 3, 6)) // 10 // 3 * 3
    groups = tuple(tuple(range(first, first + 3)) for first in range(0, grouped, 3))
    try:
        host = filled(memory, room, zone, groups, draw)
    except AssertionError:
        return None
    if room * (nodes - 1) < sum(memory):
        return None
    return Instance(
        cpu=np.full(nodes, 640_000),
        memory=np.full(nodes, room),
        zone=np.array(zone),
        vm_cpu=np.full(vms, 100),
        vm_memory=np.array(memory),
        host=np.array(host),
        apart_zones=groups,
        drained=(draw.randrange(nodes),),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One plan, what it does, and its processor seconds."""

    plan: PlacementPlan
    outcome: Outcome
    seconds: float

    @classmethod
    def of(cls, case: Instance) -> Made:
        asked = problem(case)
        parsed(asked)
        plan, seconds = timed(lambda: make_plan(asked))
        return cls(plan=plan, outcome=Outcome.of(case, moves_of(plan)), seconds=seconds)


def figures(seeds: int = SEEDS) -> Iterator[Figure]:
    """Sums over all clusters whose node is emptied, then the times of all plans."""
    made = [Made.of(case) for case in map(scarce, range(seeds)) if case is not None]
    emptied = [each for each in made if not each.outcome.left]
    moves = sum(each.outcome.moves for each in emptied)
    least = sum(each.plan.bound.moves for each in emptied)
    yield Figure(
        what=f"{len(emptied)} of {len(made)} clusters nearly full, one node emptied: moves",
        gitbot=f"{moves}",
        peer=f"{least} (bound)",
        ratio=least / moves,
    )
    memory = sum(each.outcome.memory for each in emptied)
    yield Figure(what="the same: GiB moved", gitbot=f"{memory:,}")
    proven = sum(bool(each.plan.bound.proof) for each in emptied)
    yield Figure(what="the same: plans certified to have the fewest moves", gitbot=f"{proven}")
    seconds = [each.seconds for each in made]
    yield Figure(what="the longest plan of all: processor time", gitbot=ms(max(seconds)))
    yield Figure(what="all plans", gitbot=ms(sum(seconds)))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    show(figures(parser.parse_args().seeds))


if __name__ == "__main__":
    main()
