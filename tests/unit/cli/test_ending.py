"""Signals, whenever they come: code 130, no traceback, nothing left in temporary folders."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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
LASTING = """
import atexit, sys, threading, time
from gitbot.cli.commands import version
def work():
    time.sleep(0.2)
    print("worked")
def command(**_):
    atexit.register(print, "tidied")
    if {working}:
        threading.Thread(target=work).start()
    print("x" * 100_000)
    return 1
version.version.callback = command
sys.argv = ["gitbot", "version"]
from gitbot.__main__ import main
main()
"""
TALKING = """
import sys, click
from gitbot.cli.commands import version
version.version.callback = lambda **_: click.echo("words", err={err})
sys.argv = ["gitbot", "version"]
from gitbot.__main__ import main
main()
"""
REMOVING = """
import os, signal, sys
from gitbot.adapters.working_tree import temporary_folder
signals = [signal.SIGINT]
def watch(event, _):
    if event == "shutil.rmtree" and signals:
        os.kill(os.getpid(), signals.pop())
sys.addaudithook(watch)
try:
    with temporary_folder("test") as folder:
        (folder / "file").touch()
except KeyboardInterrupt:
    print("interrupted", folder.exists())
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


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """What a shell runs in the background inherits that SIGINT is ignored, and so would gitbot."""
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminate = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)


def run(program: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", program]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)


@SIGNALS
def test_while_a_run_begins(number: signal.Signals) -> None:
    done = run(STARTING.format(number=int(number)))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@SIGNALS
def test_when_all_is_said(number: signal.Signals) -> None:
    done = run(LEAVING.format(number=int(number)))
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.startswith("gitbot ")


@pytest.mark.parametrize(("working", "ends"), [(False, ["tidied"]), (True, ["worked", "tidied"])])
def test_output_is_whole_after_threads_and_what_was_registered(
    working: bool, ends: list[str]
) -> None:
    done = run(LASTING.format(working=working))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.split() == ["x" * 100_000, *ends]


@pytest.mark.parametrize("where", ["stdout", "stderr", "both"])
def test_a_reader_that_is_gone_is_neither_an_error_nor_a_finding(where: str) -> None:
    end, pipe = os.pipe()
    os.close(end)
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams |= dict.fromkeys(streams if where == "both" else [where], pipe)
    line = [sys.executable, "-c", TALKING.format(err=where != "stdout")]
    done = subprocess.run(line, check=False, timeout=PATIENCE, **streams)  # type: ignore[call-overload]
    os.close(pipe)
    assert done.returncode == 141
    assert not done.stdout
    assert not done.stderr


def test_while_a_folder_is_removed() -> None:
    assert run(REMOVING).stdout == "interrupted False\n"


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
