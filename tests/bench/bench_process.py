"""The whole process `gitbot plan --snapshot FILE`, from its start to the last byte of its output.

500, 1,000 and 2,000 nodes with six VMs each and six rules for five nodes, in 50 files; `--full`
adds 5,000 nodes with 30,000 VMs and 6,000 rules. One node in twenty is emptied. The peers are
processes that only read: repository and snapshot file, and the same with all pods, VMs and nodes
decoded.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.large_cluster import TAKEN_AT, write
from tests.bench.table import Figure, ms, show

SIZES = (500, 1_000, 2_000)
FULL = 5_000
MOST_RULES = 6_000
GOAL_READING = 0.667  # at 2,000 nodes: at most 1.5 times reading and decoding
GOAL_SECONDS, GOAL_MIB = 20.0, 1024.0  # at 5,000 nodes
NOW = "2026-12-06T21:00:00Z"
CHILD = ("-m", "tests.bench.bench_process", "--child")
_PLAN = ("-m", "gitbot", "plan", "--now", NOW, "-o", "json", "--snapshot")


STARTER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, took = os.wait4(process.pid, 0)
used = took.ru_utime + took.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), used, took.ru_maxrss]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Processor seconds and peak memory of one process."""

    seconds: float
    mib: float


def used(*arguments: str, folder: Path) -> Used:
    """What one process took; the output is thrown away. Exit code 1 (findings) is an answer.

    A small process starts it: Linux counts in a process's peak what its parent held when it
    started, and this one holds the cluster that it made.
    """
    told = subprocess.run(
        [sys.executable, "-c", STARTER, sys.executable, *arguments],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        check=True,
    )
    code, seconds, kib = json.loads(told.stdout)
    if code not in (0, 1):
        raise RuntimeError(f"{arguments} ended with {code}")
    return Used(seconds=seconds, mib=kib / 1024)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def read(file: str, *, decoded: bool) -> None:
    """What every plan begins with."""
    import gitbot.cli.commands.plan  # noqa: F401, PLC0415 - as the command does
    from gitbot.cli.shared.options import ClusterAccess, load_snapshot  # noqa: PLC0415
    from gitbot.cli.shared.planning_input import working_tree  # noqa: PLC0415
    from gitbot.constraints.moves.instances import Instances  # noqa: PLC0415
    from gitbot.constraints.scheduler.world import World  # noqa: PLC0415
    from gitbot.wiring.workspace import shipped  # noqa: PLC0415
    from gitbot.workflows.core.revision import read_revision  # noqa: PLC0415

    texts = working_tree(Path.cwd())
    revision = read_revision(texts, cluster="prod", shipped=shipped("gitbot:"))
    snapshot = load_snapshot(ClusterAccess(snapshots=(file,)), now=TAKEN_AT)
    if decoded:
        Instances.of(snapshot)
        World.of(snapshot)
    del revision


def _all_sides(nodes: int, rules: int, rounds: int) -> tuple[Used, Used, Used]:
    """The plan, reading and decoding, reading alone: the best of some rounds, taken in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = write(folder, nodes, rules=rules, drained=nodes // 20)
        sides = ((*_PLAN, file.name), (*CHILD, "decode", file.name), (*CHILD, "read", file.name))
        taken = [[used(*side, folder=folder) for side in sides] for _ in range(rounds)]
    plan, decoded, alone = (
        min(side, key=lambda one: one.seconds) for side in zip(*taken, strict=True)
    )
    return plan, decoded, alone


def figures(*, full: bool = False) -> Iterator[Figure]:
    """Each size beside its peers, and how the time grows."""
    seconds: dict[int, float] = {}
    for nodes in (*SIZES, *((FULL,) if full else ())):
        rules = min(nodes * 6 // 5, MOST_RULES)
        plan, decoded, alone = _all_sides(nodes, rules, rounds=1 if nodes == FULL else 2)
        seconds[nodes] = plan.seconds
        what = f"gitbot plan, {nodes} nodes, {nodes * 6} VMs, {rules} rules"
        for peer, words in ((decoded, "reading, decoding"), (alone, "reading")):
            yield Figure(
                what=f"{what}: processor time",
                gitbot=ms(plan.seconds),
                peer=f"{ms(peer.seconds)} ({words})",
                ratio=peer.seconds / plan.seconds,
                goal=GOAL_READING if nodes == SIZES[-1] and peer is decoded else None,
            )
        if nodes == FULL:
            yield bound(f"{what}: processor time", plan.seconds, GOAL_SECONDS, "s")
            yield bound(f"{what}: peak memory", plan.mib, GOAL_MIB, "MiB")
        else:
            yield Figure(what=f"{what}: peak memory", gitbot=f"{plan.mib:.0f} MiB")
    yield from _growth(seconds)


def bound(what: str, value: float, goal: float, unit: str) -> Figure:
    peer = f"{goal:.0f} {unit} (goal)"
    return Figure(what=what, gitbot=f"{value:.1f} {unit}", peer=peer, ratio=goal / value, goal=1)


def _growth(seconds: dict[int, float]) -> Iterator[Figure]:
    """The exponent between the smallest and the largest size."""
    few, many = min(seconds), max(seconds)
    power = math.log(seconds[many] / seconds[few]) / math.log(many / few)
    what = f"gitbot plan, {few} to {many} nodes: the time grows with the power"
    yield Figure(what=what, gitbot=f"{power:.2f}")


def main() -> None:
    """Print the figures."""
    if "--child" in sys.argv:
        read(sys.argv[-1], decoded=sys.argv[-2] == "decode")
    else:
        show(figures(full="--full" in sys.argv))


if __name__ == "__main__":
    main()
