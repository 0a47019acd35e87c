"""Mutants of the lines that decide: `python -m tests.torture.mutants gitbot/execution/claims.py`.

Each is one small change of one line: a comparison, an `and`, a `not`, a number, a boolean, a branch
that is always or never taken, a call that is left out. It is planted in a process of its own, which
runs the quick tests that reach its line, then schedules of the torture, then the other tests that
reach it. If all of them pass, it survived. `equivalent.tsv` has those that change nothing, and why.
Without names, all modules of `ROOMS` are asked, which takes about an hour.
"""

import contextlib
import gc
import hashlib
import itertools
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType

import coverage
import pytest

from tests.torture.mutant import ROOT, Mutant, functions_of, mutants, planted
from tests.torture.run import play
from tests.torture.schedule import schedule_of

ROOMS = (
    "gitbot/execution",
    "gitbot/workflows/apply",
    *(f"gitbot/workflows/{name}.py" for name in ("anchor", "approvals", "journal", "pauses")),
    *(f"gitbot/workflows/{name}.py" for name in ("rewritten", "stops")),
)
ALONE = {f"gitbot/{room}": f"tests/unit/{room}" for room in ("calendar", "constraints", "planner")}
"""Rooms that only their own tests ask, and no schedule."""
SEEDS = 100  # schedules of the torture for a mutant that its tests let pass
BUDGET = 2.0  # seconds of processor time of the tests that are asked first
QUICK = 0.4  # seconds of processor time: longer tests are asked last
REACH = ROOT / "build/reach"
TIER = "not slow and not oracle and not controlplane and not forge and not browser and not long"
TESTS = (
    "tests/unit/execution", "tests/faults/test_broken_base.py", "tests/faults/test_fence.py",
    "tests/faults/test_forge_away.py", "tests/faults/test_histories.py",
    "tests/faults/test_two_executors.py", "tests/faults/test_refused_creates.py",
    "tests/faults/test_late_effects.py", "tests/faults/test_maintenance_crashes.py",
    "tests/faults/test_old_reads.py", "tests/faults/test_cluster_trouble.py",
    "tests/faults/test_deleted_early.py", "tests/faults/test_rolled_back_ledger.py",
    "tests/faults/test_timely.py", "tests/faults/test_judged_again.py",
    "tests/unit/workflows/test_anchor.py", "tests/unit/workflows/test_apply.py",
    "tests/unit/workflows/test_approvals.py", "tests/unit/workflows/test_belief.py",
    "tests/unit/workflows/test_cancelled_drains.py", "tests/unit/workflows/test_cancelled_rests.py",
    "tests/unit/workflows/test_denials.py", "tests/unit/workflows/test_denied_nodes.py",
    "tests/unit/workflows/test_effects.py", "tests/unit/workflows/test_hold.py",
    "tests/unit/workflows/test_journal.py", "tests/unit/workflows/test_lost_merges.py",
    "tests/unit/workflows/test_maintenance.py", "tests/unit/workflows/test_newer_ledger.py",
    "tests/unit/workflows/test_overrides.py", "tests/unit/workflows/test_pauses.py",
    "tests/unit/workflows/test_rewritten.py", "tests/unit/workflows/test_tenancy.py",
    "tests/unit/workflows/test_tickets.py", "tests/unit/workflows/test_verdicts.py",
    "tests/unit/cli/test_apply.py", "tests/unit/cli/test_hold.py", "tests/torture/test_torture.py",
)  # fmt: skip
NOT_ASKED = ("test_two_thousand_schedules", "test_one_seed_is_one_run")  # long by nature


Measured = tuple[Mapping[str, float], Mapping[str, Mapping[int, Sequence[str]]]]


class Asked:
    """Collects the tests once, and forks for each mutant."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._known: Measured = ({}, {})
        self._items: Mapping[str, pytest.Item] = {}
        self.left = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for name in [name for name in items if any(part in name for part in NOT_ASKED)]:
            del items[name]
        self._session, self._items = session, items
        self._known = _measured(session, list(items.values()))
        paths = dict.fromkeys(name.partition(":")[0] for name in self._names)
        functions = {path: functions_of(path) for path in paths}
        gc.collect()
        gc.freeze()  # children write less into memory that they share
        for name in self._names:
            path, _, within = name.partition(":")
            self._module(functions[path], path, within)
        return True

    def _module(self, functions: Sequence[FunctionType], path: str, within: str) -> None:
        began, killed, lived, same = time.monotonic(), 0, 0, 0
        known = equivalent()
        for mutant in mutants(path):
            if within not in ("", mutant.within):
                continue
            if mutant.key in known:
                same += 1
                continue
            first, last = self._tests(mutant)
            seeds = range(SEEDS if path.startswith(ROOMS) else 0)
            if self._survives(mutant, functions, first, seeds) and self._survives(
                mutant, functions, last
            ):
                lived += 1
                where = f"{path}:{mutant.line}: {mutant.within}: {mutant.said}"
                print(f"{where}: {mutant.text} [{len(first) + len(last)} tests]", flush=True)
            else:
                killed += 1
        took = time.monotonic() - began
        said = f"{killed} killed, {lived} survived, {same} equivalent, {took:.0f} s"
        print(f"{path}: {said}", flush=True)
        self.left += lived

    def _tests(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        """Those that reach its line, the quickest first: what the budget allows, and the others."""
        times, reaches = self._known
        reach = reaches.get(mutant.path, {})
        lines = range(mutant.line, mutant.last + 1)
        names = {name for line in lines for name in reach.get(line, ()) if name in times}
        if not mutant.called:  # what an import computes, any test may read
            names = set(times)
        ordered = sorted(names, key=lambda name: (times[name], name))
        spent = itertools.accumulate(times[name] for name in ordered)
        first = sum(
            all_of_them <= BUDGET and times[name] <= QUICK
            for name, all_of_them in zip(ordered, spent, strict=True)
        )
        return ordered[:first], ordered[first:]

    def _survives(
        self,
        mutant: Mutant,
        functions: Sequence[FunctionType],
        tests: Sequence[str],
        seeds: Sequence[int] = (),
    ) -> bool:
        """Whether all pass; four times as long as without the mutant counts as failed."""
        if (child := os.fork()) == 0:
            os.setpgid(0, 0)
            with _quiet():
                items = [self._items[name] for name in tests]
                sys.exit(not _passes(self._session, mutant, functions, items, seeds))
        until = time.monotonic() + 4 * sum(self._known[0][name] for name in tests) + 30
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status) == 0
            if time.monotonic() > until:  # an endless loop
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, 9)
            time.sleep(0.005)


def _paths() -> list[str]:
    found = [
        path
        for room in (*ROOMS, *ALONE)
        for path in ([ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py")))
    ]
    return [str(path.relative_to(ROOT)) for path in found]


def _measured(session: pytest.Session, items: Sequence[pytest.Item]) -> Measured:
    """How long each test takes, and which tests reach which line of the rooms."""
    files = [path for room in ("gitbot", "tests") for path in (ROOT / room).rglob("*.py")]
    house = hashlib.sha256()
    for path in sorted(files):
        if not path.name.startswith(("test_", "mutant")):
            house.update(path.read_bytes())
    REACH.mkdir(parents=True, exist_ok=True)
    times: dict[str, float] = {}
    reach: dict[str, dict[int, list[str]]] = {path: {} for path in _paths()}
    for file, group in itertools.groupby(items, lambda item: item.path):
        digest = house.copy()
        digest.update(file.read_bytes())
        kept = REACH / f"{file.parent.name}-{file.stem}"
        of = digest.hexdigest()
        found = pickle.loads(kept.read_bytes()) if kept.exists() else ("", {}, {})
        if found[0] != of:
            found = _measure(session, list(group), kept, of)
        times |= found[1]
        for path, lines in found[2].items():
            for number, names in lines.items():
                reach[path].setdefault(number, []).extend(names)
    for item in items:
        if item.nodeid not in times:
            print(f"{item.nodeid} fails without any change", flush=True)
    return times, reach


def _measure(
    session: pytest.Session, items: Sequence[pytest.Item], kept: Path, digest: str
) -> tuple[str, dict[str, float], dict[str, dict[int, list[str]]]]:
    """The tests of one file, in another process."""
    paths = _paths()
    if (child := os.fork()) == 0:
        with _quiet():
            measure = coverage.Coverage(
                data_file=None, config_file=False, include=[str(ROOT / path) for path in paths]
            )
            measure.start()
            times: dict[str, float] = {}
            for item, after in zip(items, [*items[1:], None], strict=True):
                measure.switch_context(item.nodeid)
                began, failed = sum(os.times()[:4]), session.testsfailed
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if session.testsfailed == failed:
                    times[item.nodeid] = sum(os.times()[:4]) - began
            measure.stop()
            data = measure.get_data()
            reach = {path: data.contexts_by_lineno(str(ROOT / path)) for path in paths}
            kept.write_bytes(pickle.dumps((digest, times, reach)))
    os.waitpid(child, 0)
    found: tuple[str, dict[str, float], dict[str, dict[int, list[str]]]]
    found = pickle.loads(kept.read_bytes()) if kept.exists() else ("", {}, {})
    return found if found[0] == digest else (digest, {}, {})


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """In a child: without output, and it ends here."""
    code = 2
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        yield
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def _passes(
    session: pytest.Session,
    mutant: Mutant,
    functions: Sequence[FunctionType],
    items: Sequence[pytest.Item],
    seeds: Iterable[int],
) -> bool:
    gc.disable()
    if not planted(mutant, functions):
        return _by_import(mutant, items) == 0
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed:
            return False
    return not any(play(schedule_of(seed)).broken for seed in seeds)


def _by_import(mutant: Mutant, items: Sequence[pytest.Item]) -> int:
    """What is computed when the module is imported: in a process that has not imported it yet."""
    asked = [mutant.path, str(mutant.place), str(mutant.way), *(item.nodeid for item in items)]
    command = [sys.executable, "-m", "tests.torture.mutant", *asked]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """Mutants that change nothing anybody could notice, with the reason."""
    lines = (ROOT / "tests/torture/equivalent.tsv").read_text("utf-8").splitlines()[1:]
    known = {}
    for line in lines:
        path, within, said, text, why = line.split("\t")
        known[path, within, said, text] = why
    return known


def main(names: Sequence[str]) -> int:
    """Print the survivors of each module; 1 if there are any."""
    if outside := [name for name in names if not name.startswith((*ROOMS, *ALONE))]:
        sys.exit(f"{', '.join(outside)}: neither ROOMS nor ALONE names tests for it")
    asked = Asked(names or _paths())
    tests = TESTS if not names or any(name.startswith(ROOMS) for name in names) else ()
    alone = [path for room, path in ALONE.items() if not names or room in " ".join(names)]
    options = ["-x", "-q", "-s", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly"]
    code = pytest.main([*options, "-m", TIER, *tests, *alone], plugins=[asked])
    return 1 if asked.left else int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
