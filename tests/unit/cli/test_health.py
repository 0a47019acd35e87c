"""The health file of `reconcile --watch`, as its probes read it."""

import os
from pathlib import Path

import pytest

from gitbot.cli.shared.health_file import HealthFile
from gitbot.errors import UsageError

NOW = 1_800_000_000


def test_it_begins_and_goes_on_with_what_a_probe_looks_for(tmp_path: Path) -> None:
    path = tmp_path / "health"
    health = HealthFile(str(path))
    assert path.read_text() == "starting\n"
    health.good(NOW)
    assert path.read_text() == "ok 2027-01-15T08:00:00Z\n"
    health.failing(NOW + 60, "the forge is out of reach\nmore words")
    assert path.read_text() == "failing 2027-01-15T08:01:00Z the forge is out of reach\n"
    assert [item.name for item in tmp_path.iterdir()] == ["health"]


def test_a_fault_of_the_planner_is_counted_and_fails_no_probe(tmp_path: Path) -> None:
    path = tmp_path / "health"
    health = HealthFile(str(path))
    health.passed(NOW, None, unsure=False, internal=2)
    assert path.read_text() == "ok 2027-01-15T08:00:00Z internal=2\n"
    health.passed(NOW, None, unsure=True, internal=1)
    words = "pull requests could not be planned internal=1"
    assert path.read_text() == f"failing 2027-01-15T08:00:00Z {words}\n"
    health.passed(NOW, None, unsure=False)
    assert path.read_text() == "ok 2027-01-15T08:00:00Z\n"


def test_its_time_is_the_heartbeat(tmp_path: Path) -> None:
    path = tmp_path / "health"
    health = HealthFile(str(path))
    os.utime(path, (1, 1))
    health.beat()
    assert path.stat().st_mtime > 1
    path.unlink()
    health.beat()
    assert path.read_text() == "starting\n"


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    health = HealthFile("")
    health.beat()
    health.good(NOW)
    assert list(tmp_path.iterdir()) == []


def test_what_others_wrote_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "health"
    HealthFile(str(path)).failing(NOW, "\x1b[2Jgone")
    assert "\x1b" not in path.read_text()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        HealthFile(str(tmp_path / "no" / "health"))
