"""Emptying 5 % of the nodes of a large cluster, 75 % full, with rules over all VMs.

With `--data DIR`, BtrPlace's own instance: 5,000 nodes, 30,000 VMs, 6,888 rules. Without it, one of
the same shape from a seed. Peers in the same run: best fit on numpy, and CP-SAT with 24 candidates
for each VM. Every state of the plan is counted again by the checker of `tests.bench.instance`.
Times are of the processor, from the parsed state to the replayed plan; `parsed` says what that is,
and what it took has a row of its own.
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from gitbot.cli.main import COLLECT_AFTER
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.scheduler.world import World
from gitbot.model.plan.problem import PlacementProblem
from gitbot.planner import make_plan
from tests.bench.instance import Instance, Outcome, moves_of, problem
from tests.bench.instances import maintenance, recorded
from tests.bench.peers import cp_sat
from tests.bench.peers.greedy import greedy
from tests.bench.table import Figure, ms, show

NODES = 500
GOAL_SECONDS = 1.0
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result and the processor seconds that it took."""
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def parsed(asked: PlacementProblem) -> float:
    """Bring a problem to its parsed state, and return the processor seconds of that.

    Parsed: each pod is decoded into what the scheduler sees and counted on its node, the snapshot
    has its digest, and the cycle collector does not look at any of it, as in `gitbot plan` once it
    has read. Made while planning: who holds which place, the rules of each VM and their counts,
    KubeVirt's checks, target pods, and all that is known of nodes by request.
    """

    def read() -> None:
        World.of(asked.snapshot)
        assert asked.snapshot.digest

    _, seconds = timed(read)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    return seconds


def figures(nodes: int = NODES, data: Path | None = None) -> Iterator[Figure]:
    """Time and moves beside the peers'."""
    case = recorded(data) if data is not None else maintenance(nodes)
    yield from compared(case, f"maintenance, {case.size}, {len(case.drained)} emptied")


def compared(case: Instance, what: str) -> Iterator[Figure]:
    """The figures of one instance."""
    asked = problem(case)
    decoded = parsed(asked)
    plan, planned = timed(lambda: make_plan(asked))
    findings, replayed = timed(lambda: replay(asked, plan))
    outcome = Outcome.of(case, moves_of(plan))
    assert not findings, findings[0]
    moves, quick = timed(lambda: greedy(case))
    placed = Outcome.of(case, [[move] for move in moves])
    ours = planned + replayed
    yield Figure(
        what=f"{what}: moves ({outcome.left} VMs left, {outcome.broken} rules broken)",
        gitbot=f"{outcome.moves:,}",
        peer=f"{placed.moves:,} (numpy, {placed.left} left)",
    )
    yield Figure(
        what="the same: to decode and count the pods and take the digest, before that",
        gitbot=ms(decoded),
        peer="",
    )
    told = f"{what}: planned in {ms(planned)}, replayed in {ms(replayed)}"
    yield Figure(what=told, gitbot=ms(ours), peer=f"{ms(quick)} (best fit on numpy)")
    if len(case.cpu) >= 5_000:
        yield Figure(
            what="the same, against the wanted time",
            gitbot=ms(ours),
            peer=f"{ms(GOAL_SECONDS)} wanted",
            ratio=GOAL_SECONDS / ours,
            goal=1,
        )
    if not cp_sat.installed():
        yield Figure(what="the same, CP-SAT", gitbot=ms(ours), peer=cp_sat.MISSING)
    else:
        solved, slow = timed(lambda: cp_sat.pruned(case))
        yield Figure(
            what=f"the same, {len(solved.moves) if solved else 'no'} moves of CP-SAT",
            gitbot=ms(ours),
            peer=f"{ms(slow)} (CP-SAT, pruned)",
            ratio=slow / ours,
            goal=1,
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="where btrplace/ lies")
    parser.add_argument("--nodes", type=int, default=NODES, help="without --data (500)")
    options = parser.parse_args()
    show(figures(nodes=options.nodes, data=options.data))


if __name__ == "__main__":
    main()
