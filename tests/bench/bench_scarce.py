"""Small clusters nearly full, one node emptied: plans with and without the exact solver.

6 to 15 nodes with 3 to 12 VMs each in three zones, 88 to 95 % full, up to 60 % of the VMs apart in
threes, drawn by a seed. Draws that do not fit are left out.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context

import numpy as np

from gitbot.model.plan import PlacementPlan
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
    def of(cls, case: Instance, *, solver: bool) -> Made:
        asked = replace(problem(case), solver=solver)
        parsed(asked)
        plan, seconds = timed(lambda: make_plan(asked))
        return cls(plan=plan, outcome=Outcome.of(case, moves_of(plan)), seconds=seconds)

    @property
    def certified(self) -> bool:
        return not self.outcome.left and bool(self.plan.bound.proof)


def figures(seeds: int = SEEDS) -> list[Figure]:
    """In a process of its own: HiGHS cannot be loaded where the ortools of other peers is."""
    if find_spec("highspy") is None:
        return [Figure(what="HiGHS is not installed: pip install 'gitbot[solver]'", gitbot="")]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measured, seeds).result()


def measured(seeds: int) -> list[Figure]:
    return list(_figures(seeds))


def _figures(seeds: int) -> Iterator[Figure]:
    """Sums over all clusters whose node is emptied either way."""
    cases = [case for case in map(scarce, range(seeds)) if case is not None]
    without = [Made.of(case, solver=False) for case in cases]
    exactly = [Made.of(case, solver=True) for case in cases]
    pairs = [
        (one, other)
        for one, other in zip(without, exactly, strict=True)
        if not one.outcome.left and not other.outcome.left
    ]
    some = f"{len(pairs)} of {len(cases)} clusters emptied either way"
    better = sum(one.outcome.moves > other.outcome.moves for one, other in pairs)
    before, after = (sum(pair[side].outcome.moves for pair in pairs) for side in (0, 1))
    yield Figure(
        what=f"{some}: moves with the solver ({better} plans better), and without",
        gitbot=f"{after}",
        peer=f"{before}",
        ratio=before / after,
    )
    old, new = (sum(pair[side].outcome.memory for pair in pairs) for side in (0, 1))
    yield Figure(what="the same: GiB moved", gitbot=f"{new:,}", peer=f"{old:,}", ratio=old / new)
    proven, known = (sum(pair[side].certified for pair in pairs) for side in (1, 0))
    yield Figure(what="the same: plans with a certificate", gitbot=f"{proven}", peer=f"{known}")
    held = [sum(bool(made.outcome.left) for made in side) for side in (exactly, without)]
    yield Figure(what="clusters whose node is not emptied", gitbot=f"{held[0]}", peer=f"{held[1]}")
    slow, quick = (max(made.seconds for made in side) for side in (exactly, without))
    total = [sum(made.seconds for made in side) for side in (exactly, without)]
    yield Figure(what="longest plan: processor time", gitbot=ms(slow), peer=ms(quick))
    yield Figure(what="all plans", gitbot=ms(total[0]), peer=ms(total[1]))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    show(figures(parser.parse_args().seeds))


if __name__ == "__main__":
    main()
