"""The machine reassignment challenge ROADEF/EURO 2012, with our checker, if --data names its files.

`--data DIR`: instances lie in DIR/roadef2012/instances.tar.xz. Start costs and lower bounds are
compared with the published ones. gitbot's constraints judge moves of the translated instance and
each assignment that is found, and the checker must agree. The objective is the challenge's, which
no goal of gitbot's has, so the search is the benchmark's own (`roadef/search.py`): one process,
`--seconds` of the processor for each instance. An instance scores 100 times what its cost is above
the lower bound, over the cost of the given assignment.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gitbot.model.cluster.columns import Numbers
from tests.bench.roadef import checker
from tests.bench.roadef.model import ARCHIVE, Model, stored
from tests.bench.roadef.search import improved
from tests.bench.roadef.translation import Translated
from tests.bench.table import Figure, show

PUBLISHED = {
    "b_1": (7_644_173_180, 3_290_754_940, 3_374_420_568),
    "b_2": (5_181_493_830, 1_015_153_860, 1_016_699_248),
    "b_3": (6_336_834_660, 156_631_070, 157_729_183),
    "b_4": (9_209_576_380, 4_677_767_120, 4_677_890_968),
    "b_5": (12_426_813_010, 922_858_550, 923_016_688),
    "b_6": (12_749_861_240, 9_525_841_820, 9_525_860_309),
    "b_8": (14_068_207_250, 1_214_153_440, 1_214_440_127),
    "b_9": (23_234_641_520, 15_885_369_400, 15_885_531_298),
}
"""Start cost, lower bound, and what team J33 (C++, two threads) found in 300 s.

b_7 and b_10 are in no public copy.
"""

GOAL = 1.15  # summed score
LIMIT = 300  # seconds that the challenge gives each instance
_QUICK = 5
_JUDGED = 10  # processes of the first instance that gitbot and the checker both judge


def figures(
    data: Path | None = None, *, seconds: float = _QUICK, names: Sequence[str] = ()
) -> Iterator[Figure]:
    """Verdicts that agree, then a row for each instance and their sum."""
    if data is None or not (data / ARCHIVE).exists():
        yield Figure(what=f"ROADEF 2012: skipped, no {ARCHIVE} (--data DIR)", gitbot="")
        return
    scores, peers = [], []
    for name, model in stored(data, tuple(names or PUBLISHED)):
        start, bound, found = PUBLISHED[name]
        known = checker.objective(model, model.home), checker.lower_bound(model)
        assert known == (start, bound), f"{name}: not the published instance"
        assert not checker.broken(model, model.home), f"{name}: the given assignment breaks a rule"
        if name == "b_1":
            yield _agreement(name, model)
        host = improved(model, seed=1, seconds=seconds)
        assert not checker.broken(model, host), f"{name}: {checker.broken(model, host)[0]}"
        assert not (told := judged(model, host)), f"{name}: gitbot says {told[0]}"
        scores.append(100 * (checker.objective(model, host) - bound) / start)
        peers.append(100 * (found - bound) / start)
        yield Figure(
            what=f"ROADEF {name}, {model.size}, {seconds:g} s: score",
            gitbot=f"{scores[-1]:.4f}",
            peer=f"{peers[-1]:.4f} (J33, {LIMIT} s)",
        )
    yield Figure(
        what=f"ROADEF: sum of the scores of {len(scores)} instances",
        gitbot=f"{sum(scores):.3f}",
        peer=f"{sum(peers):.3f} (J33), {GOAL} wanted",
        ratio=GOAL / sum(scores),
        goal=1 if len(scores) == len(PUBLISHED) and seconds >= LIMIT else None,
    )


def judged(model: Model, host: Numbers) -> list[str]:
    """What gitbot's constraints find in the state in which all processes have moved."""
    cluster = Translated(model)
    for process in np.flatnonzero(host != model.home).tolist():
        cluster.move(process, int(host[process]))
    return cluster.broken()


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
    parser.add_argument("--seconds", type=float, default=LIMIT, help="of each instance")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PUBLISHED))
    options = parser.parse_args()
    for name in sorted(set(options.names) - PUBLISHED.keys()):
        parser.error(f"there is no instance {name!r}, expected {', '.join(PUBLISHED)}")
    show(figures(options.data, seconds=options.seconds, names=options.names))


if __name__ == "__main__":
    main()
