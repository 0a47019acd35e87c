"""How the time for a plan grows with the cluster: 5 % of the nodes emptied, rules over all VMs.

The seeded instance of `bench_maintenance` at sizes from 100 nodes and 1,000 VMs on. The time may
grow with moves times log(nodes) plus nodes plus VMs; the power of that is fitted over logarithms.
`--most 10000` goes up to 10,000 nodes and 200,000 VMs, `--plot FILE` writes the picture of the
docs.
"""

import argparse
import math
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gitbot.constraints.replay.replay import replay
from gitbot.planner import make_plan
from tests.bench.bench_maintenance import parsed, timed
from tests.bench.instance import Outcome, moves_of, problem
from tests.bench.instances import maintenance
from tests.bench.peers.greedy import greedy
from tests.bench.plot import Line, log_log
from tests.bench.table import Figure, ms, show

SIZES = ((100, 10), (200, 10), (500, 10), (1_000, 10), (2_000, 12), (5_000, 16), (10_000, 20))
"""Nodes, and VMs a node."""
MOST = 500
GOAL = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One size; processor seconds."""

    nodes: int
    vms: int
    moves: int
    planned: float
    replayed: float
    peer: float
    memory: int  # MiB that the process has taken at most until then, the objects included

    @property
    def work(self) -> float:
        """What the time may be in proportion to."""
        return self.moves * math.log(self.nodes) + self.nodes + self.vms


def measured(nodes: int, vms_a_node: int) -> Point:
    case = maintenance(nodes, vms_a_node=vms_a_node)
    asked = problem(case)
    parsed(asked)
    plan, planned = timed(lambda: make_plan(asked))
    findings, replayed = timed(lambda: replay(asked, plan))
    assert not findings, findings[0]
    outcome = Outcome.of(case, moves_of(plan))
    assert outcome.left == 0, f"{outcome.left} VMs of {case.size} find no place"
    _, peer = timed(lambda: greedy(case))
    return Point(
        nodes=nodes,
        vms=len(case.host),
        moves=outcome.moves,
        planned=planned,
        replayed=replayed,
        peer=peer,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def exponent(points: Sequence[Point]) -> float:
    """The power of `work` with which the seconds grow: least squares over logarithms."""
    work = np.log([point.work for point in points])
    seconds = np.log([point.planned + point.replayed for point in points])
    return float(np.polyfit(work, seconds, 1)[0])


def figures(most: int = MOST, plot: Path | None = None) -> Iterator[Figure]:
    """The time at each size, and the exponent."""
    points: list[Point] = []
    for nodes, vms_a_node in SIZES:
        if nodes > most:
            break
        point = measured(nodes, vms_a_node)
        points.append(point)
        yield Figure(
            what=f"growth: {nodes:,} nodes, {point.vms:,} VMs, {point.moves:,} moves: "
            f"planned in {ms(point.planned)}, replayed in {ms(point.replayed)}, "
            f"{point.memory:,} MiB",
            gitbot=ms(point.planned + point.replayed),
            peer=f"{ms(point.peer)} (best fit on numpy)",
        )
    found = exponent(points)
    yield Figure(
        what="growth: power of moves x log(nodes) + nodes + VMs",
        gitbot=f"{found:.2f}",
        peer=f"{GOAL:.2f} wanted",
        ratio=GOAL / found,
        goal=1,
    )
    if plot is not None:
        plot.write_text(picture(points, found), "utf-8")


def picture(points: Sequence[Point], power: float) -> str:
    """The plot as SVG."""
    vms = [float(point.vms) for point in points]
    lines = [
        Line(
            name=f"plan and replay, power {power:.2f}",
            x=vms,
            y=[p.planned + p.replayed for p in points],
        ),
        Line(name="plan", x=vms, y=[point.planned for point in points]),
        Line(name="best fit on numpy", x=vms, y=[point.peer for point in points]),
    ]
    return log_log(lines, x="VMs", y="processor seconds")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=MOST, help="nodes of the largest cluster (500)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the plot as SVG")
    options = parser.parse_args()
    show(figures(most=options.most, plot=options.plot))


if __name__ == "__main__":
    main()
