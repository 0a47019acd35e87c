"""Signals, whenever they come: code 130, no traceback, nothing left in temporary folders."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.action.stage import a_clone

PATIENCE = 120  # seconds; only a test that fails ever waits so long
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda it: it.name)
STARTING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "gitbot.cli.main":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
from gitbot.__main__ import main
main()
"""
LEAVING = """
import atexit, os, sys
atexit.register(os.kill, os.getpid(), {number})
sys.argv = ["gitbot", "version"]
from gitbot.__main__ import main
main()
"""
# a Git whose fetch takes a minute: it says that it began, and writes into the mirror all the time
GIT = """\
#!{python}
import os, signal, sys, time
if "fetch" not in sys.argv:
    os.execv({git!r}, sys.argv)
if {deaf}:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
open({began!r}, "w").close()
for number in range(60_000):
    open(f"left-{{number % 50}}", "w").close()
    time.sleep(0.001)
"""


@SIGNALS
@pytest.mark.parametrize("program", [STARTING, LEAVING], ids=["starting", "leaving"])
def test_at_either_end_of_a_run(program: str, number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program.format(number=int(number))],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 130
    assert done.stderr in ("", "interrupted\n")


@SIGNALS
@pytest.mark.parametrize("deaf", [False, True], ids=["git ends", "git does not end"])
def test_while_git_works(tmp_path: Path, number: signal.Signals, deaf: bool) -> None:
    temporary, programs, began = (tmp_path / name for name in ("temporary", "programs", "began"))
    temporary.mkdir()
    programs.mkdir()
    real = shutil.which("git")
    assert real is not None
    script = programs / "git"
    script.write_text(GIT.format(python=sys.executable, git=real, deaf=deaf, began=str(began)))
    script.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "gitbot", "propose"],
        cwd=a_clone(tmp_path),
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(temporary),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE
    while not began.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    printed, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed, said.strip()) == (130, "", "interrupted")
    assert list(temporary.iterdir()) == []
