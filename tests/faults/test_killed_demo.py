"""`gitbot demo`, killed with all its children at a call of Git, and started again: the same end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")


@dataclass(frozen=True, kw_only=True)
class Finished:
    code: int
    said: str
    wrong: str
    calls: int


def counting_git(folder: Path, *, kill: int) -> Path:
    """A `git` that counts its calls, and kills the group that it belongs to at one of them."""
    shims = folder / "bin"
    shims.mkdir(parents=True)
    shim = shims / "git"
    kills = f'[ "$(wc -l < {folder}/calls)" -ge {kill} ] && kill -9 0\n' if kill else ""
    shim.write_text(
        f'#!/bin/sh\necho "$*" >> {folder}/calls\n{kills}exec {shutil.which("git")} "$@"\n'
    )
    shim.chmod(0o755)
    return shims


def demo(folder: Path, *options: str, kill: int = 0) -> Finished:
    """A demo in a group of its own; `kill` is the Git call at which all of it dies."""
    temporary, counted = folder / "tmp", folder / f"calls{kill}"
    temporary.mkdir(parents=True, exist_ok=True)
    shims = counting_git(counted, kill=kill)
    environment = {
        **os.environ,
        "PATH": f"{shims}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "gitbot", "demo", *options],
        cwd=folder,
        env=environment,
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    calls = len((counted / "calls").read_text().splitlines())
    shutil.rmtree(counted)
    return Finished(code=ran.returncode, said=ran.stdout, wrong=ran.stderr, calls=calls)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder / "placement.git"), *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def end_of(done: Finished, folder: Path) -> list[str]:
    """What is left: where the VMs are, all of the ledger's states, branches, files; no times."""
    assert (done.code, done.wrong) == (0, "")
    after = done.said[done.said.index("== The cluster after") : done.said.index("Done in")]
    states = re.findall(
        r'"(?:state|vm|node)":"[^"]*"', git(folder, "grep", "-h", "-e", "", "gitbot/ledger")
    )
    branches = git(folder, "for-each-ref", "--format=%(refname)").split()
    files = git(folder, "ls-tree", "-r", "--name-only", "main").split()
    names = sorted(path.name for path in folder.iterdir())
    assert len(states) > 20
    assert "kni-worker2" in after
    return [TIMES.sub("", after), *sorted(states), *branches, *files, *names]


def killed_and_started_again(tmp_path: Path, *, every: int, first: int) -> None:
    whole = demo(tmp_path, "--dir", "whole")
    clean = end_of(whole, tmp_path / "whole")
    for call in range(first, whole.calls + 1, every):
        killed = demo(tmp_path, "--dir", "kept", kill=call)
        assert killed.code == -signal.SIGKILL, call
        again = demo(tmp_path, "--dir", "kept")
        assert end_of(again, tmp_path / "kept") == clean, f"killed at call {call}"
        shutil.rmtree(tmp_path / "kept")


def test_killed_twice_and_started_again(tmp_path: Path) -> None:
    """Also in its second life; what else lies in the folder stays, and an ended demo is kept."""
    for call in (3, 40):
        killed = demo(tmp_path, "--dir", "kept", kill=call)
        assert killed.code == -signal.SIGKILL
        (tmp_path / "kept" / "notes.txt").write_text("mine")
    again = demo(tmp_path, "--dir", "kept")
    end_of(again, tmp_path / "kept")
    assert again.said.count("nothing to do: everything that is approved has been carried out") == 1
    assert (tmp_path / "kept" / "notes.txt").read_text() == "mine"
    assert refusal_of_another(tmp_path) == "error: kept exists; give the name of a new folder\n"


def refusal_of_another(tmp_path: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "gitbot", "demo", "--dir", "kept"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    return ran.stderr


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_at_some_calls_and_started_again(tmp_path: Path) -> None:
    killed_and_started_again(tmp_path, every=163, first=2)


@pytest.mark.long
@pytest.mark.timeout(14_400)
def test_killed_at_every_call_and_started_again(tmp_path: Path) -> None:
    killed_and_started_again(tmp_path, every=1, first=1)
