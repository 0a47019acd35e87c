"""Bugs that random mornings must find: one small change of a copy of the code each.

`python -m tests.laws.mornings_bugs [NAME…]` looks for the first morning that finds each.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture.seeded import ROOT, Bug, planted

MORNINGS = 500
"""Each bug is found within so many mornings."""


def bug(name: str, first: int, file: str, old: str, new: str) -> Bug:
    """`first`: the first morning that finds it."""
    return Bug(promise="plans", name=name, changes=((file, old, new),), start=first)


BUGS = (
    bug("evening out moves requested VMs", 420, "planner/goals/balance.py",
        "difference(against, asked_vms(board.facts.problem))", "difference(against)"),
    bug("a VM in place is taken back", 102, "planner/goals/move.py",
        "        if not settled and facts.homes.get(vm) in content:\n", "        if False:\n"),
    bug("holds of moved VMs do not say so", 13, "planner/assemble.py",
        "    if not moves:\n        return hold\n", "    return hold\n"),
    bug("one slot too many", 7, "planner/schedule/in_flight.py",
        "len(self.steps) >= max(1, self._limits.slots - len(self._others))",
        "len(self.steps) > max(1, self._limits.slots - len(self._others))"),
    bug("targets have no limit", 50, "planner/schedule/in_flight.py",
        "self._targets[step.node] + more <= limits.per_target_node", "True"),
    bug("sources have no limit", 13, "planner/schedule/in_flight.py",
        "self._sources[step.source] + more <= limits.per_source_node", "True"),
    bug("the replay forgets a slot", 0, "constraints/replay/limits_check.py",
        "slots = max(1, limits.slots - len(foreign))", "slots = limits.slots - len(foreign) - 1"),
    bug("the replay counts one move more at a source", 0, "constraints/replay/limits_check.py",
        "if sources[move.source.node] > limits.per_source_node",
        "if sources[move.source.node] >= limits.per_source_node"),
    bug("freezes are not seen", 7, "planner/schedule/timing.py",
        "return subtract(intersect(request.allowed, future), frozen)",
        "return intersect(request.allowed, future)"),
    bug("node labels are not seen", 11, "constraints/scheduler/filters/node_affinity.py",
        "def prepare(state: State, pod: Pod) -> NodeAffinityFilter | None:\n",
        "def prepare(state: State, pod: Pod) -> NodeAffinityFilter | None:\n    return None\n"),
    bug("VMs step aside for ever", 34, "planner/holds.py",
        "        return vm not in named and all(free)\n", "        return True\n"),
    bug("a drain forgets its last VM", 0, "planner/goals/drain.py",
        "    for step in turn.steps:\n        node = step.source if",
        "    for step in turn.steps[:-1]:\n        node = step.source if"),
)  # fmt: skip


@contextmanager
def copied() -> Iterator[Path]:
    """A folder with a copy of the code in which bugs may be planted."""
    with tempfile.TemporaryDirectory(prefix="gitbot-mornings-") as folder:
        shutil.copytree(ROOT / "gitbot", Path(folder) / "gitbot")
        for name in ("tests", "policies", "templates"):
            (Path(folder) / name).symlink_to(ROOT / name)
        yield Path(folder)


def faults_with(bug: Bug, folder: Path, first: int, count: int) -> str:
    """What the checker says of the first of these mornings that finds the bug; "" if none does."""
    texts = planted(bug, folder / "gitbot")
    whole = {path: path.read_text("utf-8") for path in texts}
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    words = f"from tests.laws.mornings_bugs import look; look({first}, {count})"
    ran = subprocess.run(
        [sys.executable, "-B", "-c", words], cwd=folder, capture_output=True, text=True, check=False
    )
    for path, text in whole.items():
        path.write_text(text, "utf-8")
    return ran.stdout.strip() or ran.stderr.strip()


def look(first: int, count: int) -> None:
    """Print the first morning with a fault, and the fault."""
    from tests.laws.mornings import morning  # noqa: PLC0415 - in the folder with the bug
    from tests.laws.mornings_checker import faults  # noqa: PLC0415

    for seed in range(first, first + count):
        for most in (6, 12):
            for fault in faults(morning(seed, most=most)):
                print(seed, fault[:120], flush=True)
                return


def main(names: list[str]) -> None:
    with copied() as folder:
        for each in BUGS:
            if not names or each.name in names:
                said = faults_with(each, folder, each.start, MORNINGS)
                print(f"{each.name}: {said or 'NOT FOUND'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
