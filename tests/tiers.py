"""Run the tiers of checks and tests; `make test` calls this.

Each tier prints how long it took. A tier that needs something absent is skipped with one line;
with --require all a skip is a failure. Tiers that mostly wait, for servers and for time to pass,
run beside those that compute; what they print follows when they end. The last lines say again what
failed, and why: a log that is cut keeps its end.

The gate (--require all) and `make coverage` (--require fast) also count which lines tests reach,
and fail below the bound in pyproject.toml. A person's `make test` does without.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from tests.browser import chromium
from tests.controlplane import build
from tests.forge import npm

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
MANY = min(os.cpu_count() or 1, 8) + 1
"""Workers of the tiers that compute: some of their tests wait for programs that they start."""
APART = ("slow", "deep", "field", "oracle", "controlplane", "forge", "browser", "docs", "long")
DATA = "{data}"  # stands for what --data says
REASON = 12  # lines of a failure that the last lines repeat
FAST = " and ".join(f"not {marker}" for marker in APART)
INSTALL_SPHINX = (
    *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"),
    *("install", "--require-hashes", "-r", "requirements/docs.txt"),
)
PROGRAMS = ("helm", "promtool")  # of other projects, beside the control plane
COUNTED = "tests/unit"
"""Only the tests of the rooms count: laws, contracts, pages and stories run the same lines."""
COUNTS = ".coverage.json"
SLIPCOVER = (sys.executable, "-m", "slipcover")
COUNT = (*SLIPCOVER, "--fail-under", "0", "--json", "--out", COUNTS)  # judged apart, at the end


def nothing_needed() -> str:
    return ""


def needs(program: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(program) else f"{program} is not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Commands of one tier, and what keeps it from running ("" = nothing)."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    counted: tuple[tuple[str, ...], ...] = ()  # instead of them where coverage is a condition
    missing: Callable[[], str] = nothing_needed
    prepare: tuple[tuple[str, ...], ...] = ()  # builds and fetches, before the tier's time counts
    waits: bool = False  # it may run beside tiers that compute


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    return (str(BIN / name), *arguments)


def pytest(*arguments: str, workers: int = 2) -> tuple[str, ...]:
    start = (sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadgroup")
    return (*start, *arguments)


SHIPPED_WORKFLOWS = tuple(
    path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("templates/github/*.yml"))
)
ACTION_PROGRAMS = tuple(
    path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(".github/actions/gitbot/*.py"))
)
LINT = Tier(
    name="lint",
    commands=(
        tool("ruff", "check", "."),
        tool("ruff", "format", "--check", "."),
        tool("lint-imports", "--no-cache"),
        tool("mypy"),
        tool("mypy", *ACTION_PROGRAMS),
        tool(
            "zizmor",
            "--offline",
            "--no-progress",
            "--quiet",
            "action.yml",
            ".github",
            *SHIPPED_WORKFLOWS,
        ),
    ),
)
TIERS = (
    LINT,
    Tier(
        name="fast",
        commands=(pytest("-m", FAST, workers=MANY),),
        counted=(
            (*COUNT, *pytest("-m", FAST, COUNTED, workers=MANY)[1:]),
            pytest("-m", FAST, f"--ignore={COUNTED}", workers=MANY),
            (*SLIPCOVER, "--merge", COUNTS, "--out", COUNTS),
        ),
    ),
    Tier(
        name="slow",
        commands=(pytest("-m", "slow", "--timeout=1800", "--durations=25", workers=MANY),),
    ),
    Tier(
        name="deep",  # what tier slow leaves to the night
        commands=(pytest("-m", "deep", "--timeout=1800", workers=MANY),),
    ),
    Tier(name="field", commands=(pytest("-m", "field", "tests/field", workers=MANY),)),
    Tier(
        name="browser",
        commands=(pytest("-m", "browser", "tests/browser"),),
        missing=lambda: chromium.missing() or npm.missing(),
        prepare=((sys.executable, "-m", "tests.forge.npm"),),
    ),
    Tier(
        name="docs",
        commands=(pytest("-m", "docs", "tests/docs", "--timeout=300", workers=1),),
        missing=lambda: chromium.missing() or npm.missing(),
        prepare=((sys.executable, "-m", "tests.forge.npm"), INSTALL_SPHINX),
    ),
    Tier(
        name="oracle",
        commands=(pytest("-m", "oracle", "tests/scheduling", "tests/controlplane/test_cel.py"),),
        missing=lambda: build.missing("oracle"),
        prepare=((sys.executable, "-m", "tests.controlplane.build", "oracle", "cel"),),
    ),
    Tier(
        name="controlplane",
        commands=(
            pytest(
                "-m", "controlplane", "tests/controlplane", "tests/contracts", "--durations=12"
            ),
        ),
        missing=build.missing,
        prepare=(
            (sys.executable, "-m", "tests.controlplane.build", *build.COMPONENTS, *PROGRAMS),
        ),
        waits=True,
    ),
    Tier(
        name="forge",
        commands=(pytest("-m", "forge", "tests/forge", "tests/contracts", "--durations=12"),),
        missing=lambda: npm.missing() or build.missing("gitea"),
        prepare=(
            (sys.executable, "-m", "tests.forge.npm"),
            (sys.executable, "-m", "tests.controlplane.build", "gitea"),
        ),
        waits=True,
    ),
    Tier(
        name="long",
        commands=(
            pytest("-m", "long"),
            (sys.executable, "-m", "tests.torture", "--seeds", "2000000", "--jobs", "2"),
            (sys.executable, "-m", "tests.torture.mutants"),
            (sys.executable, "-m", "tests.bench.bench_roadef", "--data", DATA),
        ),
    ),
)  # fmt: skip
GROUPS = {
    "fast": ("lint", "fast"),
    "all": ("lint", "fast", "slow", "field", "oracle", "controlplane", "browser", "docs", "forge"),
}


def chosen(names: str) -> tuple[Tier, ...]:
    wanted: list[str] = []
    for name in names.split(","):
        wanted += GROUPS.get(name.strip(), (name.strip(),))
    known = {tier.name for tier in TIERS}
    unknown = sorted(set(wanted) - known)
    if unknown:
        sys.exit(f"unknown tier {unknown[0]}; known are {', '.join(sorted(known | set(GROUPS)))}")
    return tuple(tier for tier in TIERS if tier.name in wanted)


def environment() -> dict[str, str]:
    """Without settings of Git, and without PYTHONDONTWRITEBYTECODE.

    Tests start gitbot a hundred times; without bytecode each one would compile it again.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "KUBECONFIG": "/nonexistent", "NO_COLOR": "1"}


def execute(command: tuple[str, ...], out: IO[str] | None = None) -> list[str]:
    """Run it; what failed, each with its reason. Output goes to ours if `out` is None."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        asked = (*command, f"--junitxml={report}") if "pytest" in command else command
        finished = subprocess.run(
            asked, cwd=ROOT, env=environment(), stdout=out, stderr=out, check=False
        )
        if finished.returncode == 0:
            return []
        said = f"FAILED: {' '.join(command)}"
        print(said, file=out, flush=True)
        return [said, *failures(report)]


def failures(report: Path) -> Iterator[str]:
    """The tests of a JUnit report that did not pass: name and the first lines of the reason."""
    if not report.exists():  # the run ended before its report, which its output shows
        return
    for case in ET.parse(report).iter("testcase"):
        for fault in (*case.findall("failure"), *case.findall("error")):
            reason = fault.get("message", "").splitlines()[:REASON]
            yield "\n  ".join([f"{case.get('classname')}::{case.get('name')}", *reason])


def run(tier: Tier, out: IO[str] | None = None) -> list[str]:
    started = time.monotonic()
    failed = [said for command in tier.commands for said in execute(command, out)]
    print(f"tier {tier.name}: {time.monotonic() - started:.0f} s", file=out, flush=True)
    return failed


def run_beside(tier: Tier) -> tuple[list[str], str]:
    """What failed, and what it printed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        failed = run(tier, out)
        out.seek(0)
        return failed, out.read()


def run_all(tiers: Sequence[Tier]) -> list[str]:
    beside = [tier for tier in tiers if tier.waits]
    if len(beside) == len(tiers):
        return [said for tier in tiers for said in run(tier)]
    with ThreadPoolExecutor(max_workers=1) as second:
        running = [second.submit(run_beside, tier) for tier in beside]
        failed = [said for tier in tiers if not tier.waits for said in run(tier)]
        for future in running:
            late, text = future.result()
            print(text, end="", flush=True)
            failed += late
    return failed


def is_required(tier: Tier, require: str) -> bool:
    return require in ("all", tier.name)


def ready(tier: Tier, require: str) -> tuple[bool, bool]:
    """Whether the tier can run, and whether that is as it should be."""
    missing = tier.missing()
    if missing:
        print(f"tier {tier.name}: skipped, {missing}", flush=True)
        return False, not is_required(tier, require)
    made = not any(execute(command) for command in tier.prepare)
    return made, made


def as_asked(tier: Tier, *, require: str, data: str) -> Tier:
    """With the person's folder of data, and with coverage where it is a condition."""
    wanted = tier.counted if tier.counted and is_required(tier, require) else tier.commands
    commands = [tuple(data if part == DATA else part for part in one) for one in wanted]
    return replace(tier, commands=tuple(commands))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the tiers of checks and tests.")
    parser.add_argument("--tiers", default="fast")
    parser.add_argument("--require", default="")
    parser.add_argument("--data", default="", help="folder with public instances, for tier long")
    options = parser.parse_args(arguments)
    tiers, good = [], True
    for tier in chosen(options.tiers):
        can, fine = ready(tier, options.require)
        tiers += [as_asked(tier, require=options.require, data=options.data)] if can else []
        good = good and fine
    failed = run_all(tiers)
    good = good and not failed
    print("\n".join([*failed, "all tiers passed" if good else "SOME CHECKS FAILED"]), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
