"""What a large maintenance costs: the plan, the proposal, and each look of apply.

300 nodes in 3 zones, 4,000 VMs, 85 % full, a rack of twelve nodes is emptied. Run as a script; it
prints figures and asserts no times.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.planner import make_plan
from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.core.revision_engine import RevisionEngine
from tests.bench.table import Figure, ms, show
from tests.doubles.rack import RackSize, rack
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop
from tests.scenarios.rack.story import RULE, WINDOW

MINUTES = 2  # of virtual time that apply runs


class CountingPort(SimulatedPort):
    """The simulated port; counts the looks at the whole cluster."""

    looks = 0

    def snapshot(self) -> ClusterSnapshot:
        """A complete consistent read."""
        self.looks += 1
        return super().snapshot()


def plan_seconds(loop: Loop) -> tuple[int, float]:
    """Moves of the drain's plan, and how long planning alone takes."""
    base = loop.shell.read_base(loop.shell.repository.commit("main").id)
    assert isinstance(base, RevisionEngine)
    (window,) = (intent for intent, _ in base.intents.maintenance_windows)
    opening = base.opening(window, now=loop.port.now())
    assert opening is not None
    snapshot = loop.port.snapshot()
    goal = base.drain_goal(window, opening, snapshot, now=loop.port.now())
    assert goal is not None
    problem = replace(base.problem(snapshot, loop.port.now()), goals=(goal,))
    began = time.perf_counter()
    plan = make_plan(problem)
    return len(plan.moves), time.perf_counter() - began


def figures(size: RackSize | None = None) -> Iterator[Figure]:
    """What was done, and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop.start(Path(folder), rack(size, start_time=START))
        counting = CountingPort(loop.cluster)
        loop.shell = replace(loop.shell, cluster=counting)
        loop.commit({"window.yaml": WINDOW, "rule.yaml": RULE})
        yield from _measured(loop, counting)


def _measured(loop: Loop, counting: CountingPort) -> Iterator[Figure]:
    began = time.perf_counter()
    loop.propose()
    seconds = time.perf_counter() - began
    (pull,) = loop.forge.list_pulls()
    (comment,) = loop.forge.list_comments(pull.number)
    told = f"rack: proposed, with a comment of {len(comment.body)} characters"
    yield Figure(what=told, gitbot=ms(seconds))
    moves, seconds = plan_seconds(loop)
    yield Figure(what=f"rack: {moves} moves planned", gitbot=ms(seconds))
    loop.merge(pull.number)
    for what, minutes in (("before its window opens", 0), ("while it drains", MINUTES)):
        counting.looks = 0
        began = time.perf_counter()
        result = loop.apply(max_runtime=minutes * 60)
        seconds = time.perf_counter() - began
        yield Figure(
            what=f"rack: apply {what}, each of {counting.looks} looks "
            f"({result.created} migrations started)",
            gitbot=ms(seconds / counting.looks),
        )
        loop.port.sleep(2 * 3600)


def main() -> None:
    """Print the figures."""
    show(figures())


if __name__ == "__main__":
    main()
