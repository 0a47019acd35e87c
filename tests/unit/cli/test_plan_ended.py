"""Ctrl-C while `gitbot plan` plans: the best plan so far as -o asks, not final, exit code 130."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitbot.adapters.progress_bar import StderrProgress
from gitbot.cli.main import cli
from tests.bench.large_cluster import write

NOW = "2026-12-06T21:00:00Z"


def after(moves: int, number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sends a signal when so many moves are planned."""
    hears = StderrProgress.planned

    def planned(self: StderrProgress, count: int) -> None:
        hears(self, count)
        if count == moves and not self.stopped():
            os.kill(os.getpid(), number)

    monkeypatch.setattr(StderrProgress, "planned", planned)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_the_best_plan_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    file = write(tmp_path, 40, rules=40, files=2, drained=2)
    monkeypatch.chdir(tmp_path)
    command = ["plan", "--snapshot", str(file), "--now", NOW, "-o", "json"]
    whole = CliRunner().invoke(cli, command, standalone_mode=False)
    after(6, number, monkeypatch)
    ended = CliRunner().invoke(cli, command, standalone_mode=False)
    assert (whole.return_value, ended.return_value) == (0, 130)
    first, second = json.loads(whole.stdout), json.loads(ended.stdout)
    assert len(first["moves"]) == 12
    assert len(second["moves"]) == 6
    assert {hold["code"] for hold in second["holds"]} == {"interrupted"}
    codes = {finding["code"] for finding in second["findings"]}
    assert "plan/not-final" in codes
    assert not any(code.startswith("replay/") for code in codes)


ENDLESS = """
import sys
from gitbot.adapters import progress_bar
from gitbot.planner import plan as planning
def endless(*_, **__):
    print("planning", file=sys.stderr, flush=True)
    while True:
        {loop}
planning._draft_all = endless
progress_bar.ENDING = 1.0
from gitbot.__main__ import main
main()
"""
SIMPLE = "pass"
STUBBORN = """
        try:
            while True: pass
        except BaseException: pass
"""


def endless(loop: str, *command: str, cwd: Path, signals: int = 1) -> tuple[int, str, float]:
    """A gitbot whose planner never returns: code and messages, and the seconds after the signal."""
    program = [sys.executable, "-c", ENDLESS.format(loop=loop), *command]
    with subprocess.Popen(program, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = "planning\n"  # after the line about the ledger, if there is one
        assert any(line == told for line in process.stderr)
        begin = time.monotonic()
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        messages = process.stderr.read()
        return process.wait(60), messages, time.monotonic() - begin


@pytest.mark.parametrize("loop", [SIMPLE, STUBBORN])
def test_planner_that_never_returns_ends_soon_after_the_first_signal(
    tmp_path: Path, loop: str
) -> None:
    file = write(tmp_path, 10, rules=10, files=2)
    command = ("plan", "--snapshot", str(file), "--now", NOW)
    code, messages, seconds = endless(loop, *command, cwd=tmp_path)
    assert (code, "planning did not end within 1 s of the signal" in messages) == (130, True)
    assert seconds < 20


def test_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    file = write(tmp_path, 10, rules=10, files=2)
    command = ("plan", "--snapshot", str(file), "--now", NOW)
    code, messages, _ = endless(SIMPLE, *command, cwd=tmp_path, signals=2)
    assert (code, messages.strip()) == (130, "interrupted")


def test_simulation_that_never_returns_ends_at_the_first_signal(tmp_path: Path) -> None:
    file = write(tmp_path, 10, rules=10, files=2)
    command = ("simulate", "drain", "worker-00001", "--snapshot", str(file), "--now", NOW)
    code, messages, _ = endless(SIMPLE, *command, cwd=tmp_path)
    assert (code, messages.strip()) == (130, "interrupted")
