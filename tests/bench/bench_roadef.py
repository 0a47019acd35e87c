"""The machine reassignment challenge ROADEF/EURO 2012, with our checker, if --data names its files.

`--data DIR`: instances lie in DIR/roadef2012/instances.tar.xz. Start costs and lower bounds are
compared with the published ones. gitbot's constraints judge moves of the translated instance, and
the checker must agree with each answer.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.bench.roadef import checker
from tests.bench.roadef.model import ARCHIVE, Model, stored
from tests.bench.roadef.translation import Translated
from tests.bench.table import Figure, show

PUBLISHED = {
    "b_1": (7_644_173_180, 3_290_754_940),
    "b_2": (5_181_493_830, 1_015_153_860),
    "b_3": (6_336_834_660, 156_631_070),
    "b_4": (9_209_576_380, 4_677_767_120),
    "b_5": (12_426_813_010, 922_858_550),
    "b_6": (12_749_861_240, 9_525_841_820),
    "b_8": (14_068_207_250, 1_214_153_440),
    "b_9": (23_234_641_520, 15_885_369_400),
}
"""The cost of the given assignment and the lower bound; b_7 and b_10 are in no public copy."""

_JUDGED = 40  # processes of the first instance that gitbot and the checker both judge


def figures(data: Path | None = None) -> Iterator[Figure]:
    """One row an instance."""
    if data is None or not (data / ARCHIVE).exists():
        yield Figure(what=f"ROADEF 2012: skipped, no {ARCHIVE} (--data DIR)", gitbot="")
        return
    for name, model in stored(data, tuple(PUBLISHED)):
        start, bound = checker.objective(model, model.home), checker.lower_bound(model)
        assert (start, bound) == PUBLISHED[name], f"{name}: not the published instance"
        assert not checker.broken(model, model.home), f"{name}: the given assignment breaks a rule"
        if name == "b_1":
            yield _agreement(name, model)


def _agreement(name: str, model: Model) -> Figure:
    """Random processes against all machines, in the states of a walk of lawful moves."""
    cluster, draw, answers = Translated(model), random.Random(1), 0
    for process in draw.sample(range(len(model.home)), _JUDGED):
        allowed = cluster.lawful(process)
        for machine in set(range(len(allowed))) - {int(cluster.host[process])}:
            after = cluster.host.copy()
            after[process] = machine
            told = checker.broken(model, after)
            assert allowed[machine] == (not told), f"{name}: {process} to {machine}: {told}"
            answers += 1
        if allowed.any():
            cluster.move(process, int(draw.choice(np.flatnonzero(allowed).tolist())))
    return Figure(
        what=f"ROADEF {name}: verdicts of gitbot's constraints on moves of its processes",
        gitbot=f"{answers:,}",
        peer="all as our checker's",
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with roadef2012/")
    options = parser.parse_args()
    show(figures(options.data))


if __name__ == "__main__":
    main()
