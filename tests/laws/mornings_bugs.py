"""Bugs that random mornings must find: one small change of a copy of the code each.

`python -m tests.laws.mornings_bugs [NAME…]` looks for the first morning that finds each.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
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
    bug("terminating pods leave their room at once", 8, "snapshot/from_objects.py",
        "        return not is_final(obj)\n",
        '        return not is_final(obj) and "deletionTimestamp" not in obj["metadata"]\n'),
    bug("an old launcher pod is taken for the VM", 8, "planner/state/residents.py",
        "return tuple(vm for vm in board.on(node) if not lingers(board, vm, node))",
        "return board.on(node)"),
    bug("a VM with an old launcher pod counts as migrating", 0, "constraints/moves/under_way.py",
        'if state and not state.get("completed") and not state.get("failed"):',
        "if instances[vm].others or state:"),
    bug("missing room is counted from zero", 8, "constraints/scheduler/filters/resources.py",
        "amount_words(name, asked - free)",
        "amount_words(name, asked - max(free, 0))"),
    bug("free room counts no pod", 3, "constraints/scheduler/filters/resources.py",
        "            if amount > free:",
        "            if amount > free and (free := capacity):"),
    bug("another VM is named that keeps a node", 7, "planner/holds.py",
        '{first} cannot move ({code}){more}"\n'
        '    return Blocker(code="blocked-node"',
        '{first} cannot move ({max(item.code for item in culprits.values())}){more}"\n'
        '    return Blocker(code="blocked-node"'),
    bug("NoExecute taints are not seen", 9, "constraints/scheduler/filters/taints.py",
        'frozenset({"NoSchedule", "NoExecute"})',
        'frozenset({"NoSchedule"})'),
    bug("one node too many on its way", 0, "planner/schedule/schedule.py",
        "self.over[item.request.id]) < lanes",
        "self.over[item.request.id]) <= lanes"),
    bug("a node is back at once", 3, "planner/schedule/schedule.py",
        "(self.now + self.away.get(key[0], 0), *key",
        "(self.now, *key"),
    bug("VMs on wrong nodes count twice", 2, "constraints/rules/rule_parts.py",
        'amount=self.weight,\n                    message=f"{vm.name} is on',
        'amount=2,\n                    message=f"{vm.name} is on'),
    bug("BlockNode is LeaveRunning", 0, "planner/goals/drain.py",
        "against = self.against[node].items() if goal.block or goal.together else ()",
        "against = self.against[node].items() if goal.together else ()"),
    bug("a remedy names the amount asked, not the amount missing", 98, "planner/proofs/messages.py",
        "short.wanted - short.there + over", "short.wanted"),
    bug("a remedy is offered untried", 7, "planner/remedies.py",
        "    if found is None or not _moves(plan, found, hold):\n",
        "    if False:\n"),
    bug("more than maxCount is nothing, in silence", 0,
        "intents/kinds/migration_request/selected_vms.py",
        "        return SelectedVms(findings=(*findings, wide))\n",
        "        return SelectedVms(findings=findings)\n"),
    bug("another window is said to empty a node", 0, "planner/plan.py",
        "{goal.request.intent.name} empties",
        "{facts.problem.goals[0].request.intent.name} empties"),
    bug("sizes are rounded down", 0, "constraints/moves/copies.py",
        "-(-data // max(1, bandwidth))",
        "data // max(2, bandwidth + 1)"),
    bug("moves do not wait for those before", 0, "planner/assemble.py",
        "for (wave, item), ref, others in zip(timed, refs, after, strict=True)",
        "for (wave, item), ref, others in zip(timed, refs, [()] * len(refs), strict=True)"),
    bug("requests go to nodes for maintenance", 0, "planner/plan.py",
        "        for node in goal.closes\n",
        "        for node in ()\n"),
    bug("all holds count as asked for", 0, "planner/assemble.py",
        '"held": sum(hold.asked for hold in holds)',
        '"held": len(holds)'),
    bug("a pod is named that is not there", 7,
        "constraints/scheduler/filters/inter_pod_affinity.py",
        '(f"{pod.name}{_ending(pod)}", number)',
        '("default/web-3", number)'),
    bug("own anti-affinity is not seen", 7, "constraints/scheduler/filters/inter_pod_affinity.py",
        "            if value is None or not holders:\n",
        "            if True:\n"),
    bug("a frozen VM is said to migrate", 3, "planner/holds.py",
        'code="frozen",',
        'code="in-flight",'),
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
    from tests.laws.mornings_remedies import useless  # noqa: PLC0415

    for seed in range(first, first + count):
        for most in (6, 12):
            case = morning(seed, most=most)
            for fault in chain(faults(case), useless(case)):
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
