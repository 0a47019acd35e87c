"""Temporary folders of killed runs are removed by the next one; those of others never."""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import temporary_folder
from gitbot.errors import UsageError
from gitbot.wiring.demo import UNFINISHED, demo_folder

GITBOT = Path(__file__).parents[3] / "gitbot"
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


def a_run(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


def left_behind(tmp_path: Path) -> Path:
    """The folder of a killed run, which the next one may remove."""
    run, theirs = a_run(tmp_path)
    with run:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert (theirs / "pack").exists()
    return theirs.parent


def sweep() -> None:
    with temporary_folder("index"):
        pass


def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    left = left_behind(tmp_path)
    sweep()
    assert not left.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_still_uses_stays(tmp_path: Path) -> None:
    run, theirs = a_run(tmp_path)
    with run:
        try:
            sweep()
            assert (theirs / "pack").exists()
        finally:
            run.kill()


def copied(left: Path) -> None:
    shutil.copytree(left, left.with_name("gitbot-mirror-copy"))
    shutil.rmtree(left)


def moved_into(left: Path) -> None:
    (left / "notes.txt").write_text("mine")


def opened(left: Path) -> None:
    left.chmod(0o755)


def replaced(left: Path) -> None:
    (left / "made-by-gitbot").write_text("gitbot made this temporary folder: 1:1\n")


def linked(left: Path) -> None:
    os.link(left / "made-by-gitbot", left.with_name("kept"))


def without(left: Path) -> None:
    (left / "made-by-gitbot").unlink()


def elsewhere(left: Path) -> None:
    left.rename(left.with_name("elsewhere"))
    left.symlink_to(left.with_name("elsewhere"))


@pytest.mark.parametrize(
    "changed", [copied, moved_into, opened, replaced, linked, without, elsewhere]
)
def test_what_gitbot_cannot_prove_to_be_its_own_stays(
    tmp_path: Path, changed: Callable[[Path], None]
) -> None:
    changed(left_behind(tmp_path))
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    sweep()
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["demo", "mirror", "clone", "asked", "index"])
def test_a_person_s_folder_of_the_name_stays(tmp_path: Path, name: str) -> None:
    own = tmp_path / f"gitbot-{name}-mine"
    own.mkdir(mode=0o700)
    (own / "notes.txt").write_text("mine")
    os.utime(own, (0, 0))
    with temporary_folder(name):
        pass
    assert (own / "notes.txt").read_text() == "mine"


def test_a_person_s_folder_with_a_demo_s_mark_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "work"
    (own / "clone").mkdir(parents=True)
    (own / UNFINISHED).touch()
    with pytest.raises(UsageError, match="work exists"), demo_folder(own):
        pass
    assert (own / "clone").is_dir()


DELETES = {"rmtree", "unlink", "rmdir", "remove", "removedirs", "replace", "rename"}
PLACES = {
    "adapters/working_tree.py:_remove": "the parent that mkdtemp made, or that `_is_own` proved",
    "adapters/working_tree.py:replace_file": "a name that was free; the target is what was asked",
    "adapters/git/bounded_command.py:_end": "in a mirror or a copy that gitbot made for this run",
    "wiring/demo.py:demo_folder": "the mark that this process has written",
    "wiring/demo.py:_clear": "three names, if the mark names this very folder",
}
"""Each place that deletes a file or folder, and what proves that gitbot made it."""


def test_each_place_that_deletes_has_its_proof() -> None:
    found = set()
    for path in GITBOT.rglob("*.py"):
        if path.relative_to(GITBOT).parts[0] == "simulation":
            continue  # it has no files
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and deletes(call):
                    found.add(f"{path.relative_to(GITBOT)}:{function.name}")
    assert found == PLACES.keys()


def deletes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in {"rmtree", "unlink", "rmdir", "removedirs"}:
        return True
    return owner == "os" and name in DELETES
