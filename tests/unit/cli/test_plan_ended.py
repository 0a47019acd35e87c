"""Ctrl-C while `gitbot plan` plans: the best plan so far as -o asks, not final, exit code 130."""

import json
import os
import signal
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
