"""`gitbot demo`, killed with all its children at a call of Git, and started again: the same end.

Or stopped in another way, at any moment: killed alone, told to end, one of its children killed.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
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


def demo(
    folder: Path,
    *options: str,
    kill: int = 0,
    stop: Callable[[subprocess.Popen[str], Path], None] = lambda _, __: None,
) -> Finished:
    """A demo in a group of its own; `kill` is the Git call at which all of it dies.

    `stop` gets the process, and the file that has a line for each call of Git.
    """
    temporary, counted = folder / "tmp", folder / f"calls{kill}"
    temporary.mkdir(parents=True, exist_ok=True)
    shims = counting_git(counted, kill=kill)
    environment = {
        **os.environ,
        "PATH": f"{shims}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "gitbot", "demo", *options],
        cwd=folder,
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as ran:
        stop(ran, counted / "calls")
        said, wrong = ran.communicate(timeout=300)
    calls = len((counted / "calls").read_text().splitlines())
    shutil.rmtree(counted)
    return Finished(code=ran.returncode, said=said, wrong=wrong, calls=calls)


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


def kill_a_git(demo: subprocess.Popen[str]) -> None:
    """The next process of Git that it starts."""
    while demo.poll() is None:
        with suppress(OSError):  # a process that ended meanwhile
            for child in Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split():
                called = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[:2]
                if any(word.rpartition(b"/")[2] == b"git" for word in called):
                    os.kill(int(child), signal.SIGKILL)
                    return


WAYS: dict[str, tuple[Callable[[subprocess.Popen[str]], None], int]] = {
    "killed alone": (lambda demo: demo.kill(), -signal.SIGKILL),
    "killed with its children": (
        lambda demo: os.killpg(demo.pid, signal.SIGKILL),
        -signal.SIGKILL,
    ),
    "told to end": (lambda demo: demo.terminate(), 130),
    "told to end with its children": (lambda demo: os.killpg(demo.pid, signal.SIGTERM), 130),
    "interrupted": (lambda demo: demo.send_signal(signal.SIGINT), 130),
    "interrupted with its children": (lambda demo: os.killpg(demo.pid, signal.SIGINT), 130),
    "a child killed": (kill_a_git, 2),
}
"""How it is stopped, and its exit code."""


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_stopped_in_any_way_at_any_moment_and_started_again(tmp_path: Path) -> None:
    """Moments are anywhere between two calls of Git, too."""
    chance, whole = random.Random(1), demo(tmp_path, "--dir", "whole")
    clean = end_of(whole, tmp_path / "whole")
    for how, (way, code) in [*WAYS.items()] * 3:
        call, pause = chance.randrange(1, whole.calls - 10), chance.random() / 10

        def stop(
            ran: subprocess.Popen[str],
            calls: Path,
            call: int = call,
            pause: float = pause,
            way: Callable[[subprocess.Popen[str]], None] = way,
        ) -> None:
            while not (calls.exists() and calls.read_text().count("\n") >= call):
                time.sleep(0.001)
            time.sleep(pause)
            way(ran)

        stopped = demo(tmp_path, "--dir", "kept", stop=stop)
        at = f"{how} {pause:.3f} s after call {call}"
        assert "Traceback" not in stopped.wrong, at
        if way is kill_a_git and not stopped.code:  # it could do without
            again = stopped
        else:
            assert stopped.code == code, f"{at}: {stopped.wrong}"
            again = demo(tmp_path, "--dir", "kept")
        assert end_of(again, tmp_path / "kept") == clean, at
        shutil.rmtree(tmp_path / "kept")
