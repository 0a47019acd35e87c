"""Bugs on purpose: one small change of a copy of the code each, and what must find it.

`python -m tests.torture.bugs` plants them one after the other, in a folder of its own, and prints
a table. A bug that nothing finds fails. Give names to plant only these.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = "3000"
HISTORIES = "histories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """`changes`: file below gitbot/, text that it holds once, other text.

    `tests`: "" for the torture alone, HISTORIES for those of Git and forge. `start` is the first
    seed of the torture, so that a bug which shows late is not looked for in a thousand others.
    """

    promise: str
    name: str
    changes: tuple[tuple[str, str, str], ...]
    tests: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    bug: Bug
    by: str  # "" if nothing found it
    seconds: float


def planted(bug: Bug, package: Path) -> dict[Path, str]:
    """The files with the bug in them, by path."""
    texts: dict[Path, str] = {}
    for file, old, new in bug.changes:
        path = package / file
        text = texts.get(path) or path.read_text("utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{bug.name}: {old!r} stands {text.count(old)} times in {file}")
        texts[path] = text.replace(old, new)
    return texts


def hunt(bugs: Sequence[Bug]) -> Iterator[Found]:
    """Plant each bug in a copy of the code, and look for it."""
    with tempfile.TemporaryDirectory(prefix="gitbot-seeded-") as folder:
        copy = Path(folder) / "gitbot"
        shutil.copytree(ROOT / "gitbot", copy)
        for name in ("tests", "policies", "templates", "deploy", "docs", "examples", "Makefile"):
            (Path(folder) / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        for bug in bugs:
            began, texts = time.monotonic(), planted(bug, copy)
            whole = {path: path.read_text("utf-8") for path in texts}
            for path, text in texts.items():
                path.write_text(text, "utf-8")
            by = _found_by(bug, folder)
            for path, text in whole.items():
                path.write_text(text, "utf-8")
            yield Found(bug=bug, by=by, seconds=time.monotonic() - began)


def _found_by(bug: Bug, folder: str) -> str:
    if bug.tests == HISTORIES:
        code, said = _python(folder, "-m", "tests.torture.histories", "--seeds", "400", "--first")
        return said.strip().splitlines()[-1] if code == 1 else ""
    if bug.tests:
        arguments = ("-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider")
        code, said = _python(folder, *arguments, "-p", "no:randomly", *bug.tests.split())
        failed = [line for line in said.splitlines() if line.startswith("FAILED ")]
        return failed[0].split()[1] if code == 1 and failed else ""
    code, said = _python(
        folder, "-m", "tests.torture", "--seeds", SEEDS, "--first", "--start", str(bug.start)
    )
    return said.strip().splitlines()[-1] if code == 1 else ""


def _python(folder: str, *arguments: str) -> tuple[int, str]:
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode, finished.stdout + finished.stderr


def report(bugs: Sequence[Bug], names: Sequence[str]) -> int:
    chosen = [bug for bug in bugs if not names or bug.name in names]
    missed = 0
    for found in hunt(chosen):
        missed += not found.by
        bug = found.bug
        by = found.by or "NOTHING"
        print(f"{bug.promise:8} {found.seconds:5.1f} s  {bug.name}: {by}", flush=True)
    print(f"{len(chosen)} bugs, {missed} not found")
    return 1 if missed else 0
