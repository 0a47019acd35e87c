"""A component ends with the process that started it, no matter how that ends. Needs no Go."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.controlplane.component import GUARD, Component, free_ports

SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPER
OWNER = """
import sys, time
from pathlib import Path
from tests.controlplane.component import Component
Component("sleeper", [sys.executable, "-c", sys.argv[1]], log=Path(sys.argv[2])).start()
print("started", flush=True)
time.sleep(600)
"""


def _process_of(log: Path) -> int:
    deadline = time.monotonic() + 20
    while not (log.exists() and log.read_text("utf-8").endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(log.read_text("utf-8"))


def _ends(process: int) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text("utf-8").split(")")[1].split()[0] == "Z":
                return True  # an orphan that nobody has reaped yet
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("program", [SLEEPER, STUBBORN])
def test_it_ends_when_it_is_stopped(program: str, tmp_path: Path) -> None:
    component = Component("one", [sys.executable, "-c", program], log=tmp_path / "log")
    before = component.running
    component.start()
    process = _process_of(component.log)
    during = component.running
    component.stop()
    assert (before, during, component.running) == (False, True, False)
    assert _ends(process)
    component.stop()


def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    root = GUARD.parents[2]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, SLEEPER, str(log)], cwd=root, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"started\n"
    process = _process_of(log)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert _ends(process)


def test_one_that_ends_by_itself_is_seen(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no port')"]
    component = Component("one", command, log=tmp_path / "log")
    component.start()
    deadline = time.monotonic() + 20
    while component.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert component.tail() == "no port"
    component.stop()


def test_free_ports_differ() -> None:
    assert len(set(free_ports(5))) == 5
