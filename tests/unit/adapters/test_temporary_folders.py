"""Temporary folders of killed runs are removed by the next one; those in use are not."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gitbot.adapters import working_tree
from gitbot.adapters.working_tree import temporary_folder

PROGRAM = """
import sys, time
from gitbot.adapters.working_tree import temporary_folder
with temporary_folder("mirror") as folder:
    (folder / "pack").write_text("large")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(working_tree, "JUST_MADE", -1)


def a_run(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path: Path, killed: bool) -> None:
    run, theirs = a_run(tmp_path)
    with run:
        try:
            if killed:
                run.send_signal(signal.SIGKILL)
                run.wait()
            assert (theirs / "pack").exists()
            with temporary_folder("mirror") as ours:
                assert ours.is_dir()
                assert theirs.exists() is not killed
        finally:
            run.kill()
            assert run.stdout is not None
            run.stdout.close()


def test_other_names_and_links_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "gitbot-demo-1").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "gitbot-mirror-link").symlink_to(tmp_path / "elsewhere")
    with temporary_folder("mirror"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "elsewhere", "gitbot-demo-1", "gitbot-mirror-link",
    ]  # fmt: skip
