"""Every folder beside this file: its session or story gives what is written down."""

import contextlib
import importlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot import gitbot_version
from gitbot.cli.main import main
from tests.scenarios.clusters import clusters

HERE = Path(__file__).resolve().parent
UPDATE = os.environ.get("UPDATE_SCENARIOS") == "1"
SESSIONS = sorted(path.parent.name for path in HERE.glob("*/session.txt"))
LARGE = {"rack", "w11_twelve_nodes_one_by_one"}  # minutes, not seconds
STORIES = [
    pytest.param(name, marks=[pytest.mark.slow, pytest.mark.timeout(1500)] if name in LARGE else [])
    for name in sorted(path.parent.name for path in HERE.glob("*/story.py"))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a session, with the lines that it is expected to print."""

    line: str
    printed: str
    comment: str = ""


def parse_session(text: str) -> Iterator[Command]:
    """Split a session into comments, commands (`$ gitbot …`) and what they print."""
    comment, line, printed = "", "", ""
    for row in text.splitlines(keepends=True):
        if row.startswith("$ "):
            if line:
                yield Command(line=line, printed=printed, comment=comment)
                comment = ""
            line, printed = row[2:].rstrip("\n"), ""
        elif row.startswith("# ") and (not line or printed.rstrip().endswith("]")):
            if line:
                yield Command(line=line, printed=printed, comment=comment)
                comment, line, printed = "", "", ""
            comment += row
        elif line:
            printed += row
    if line:
        yield Command(line=line, printed=printed, comment=comment)


def run(line: str, folder: Path) -> tuple[str, str]:
    """Run one command in the folder; returns (text for the session, text for the file)."""
    words, _, target = line.partition(" > ")
    arguments = shlex.split(words)
    assert arguments[0] == "gitbot", f"a session runs gitbot, not {arguments[0]}"
    output, errors = io.StringIO(), io.StringIO()
    code = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main(arguments[1:])
        except SystemExit as ended:
            code = int(ended.code or 0)
    printed = output.getvalue().replace(gitbot_version(), "VERSION")
    shown = "" if target else printed
    said = f"{shown}{errors.getvalue()}".replace(str(folder), "FOLDER")
    return f"{said}[exit {code}]\n", printed if target else ""


@pytest.mark.parametrize("name", SESSIONS)
def test_session(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("GITBOT_DOCS", "https://docs.example/reference")
    # a busy machine must not write lines about progress into what is compared
    monkeypatch.setattr("gitbot.adapters.progress_bar._LOGGED", 3600.0)
    source = HERE / name
    folder = tmp_path / name
    shutil.copytree(source, folder)
    shutil.copytree(HERE / "_clusters", tmp_path / "_clusters")
    commands = list(parse_session((source / "session.txt").read_text(encoding="utf-8")))
    assert commands, "a session has at least one command"
    written = ""
    for command in commands:
        shown, content = run(command.line, folder)
        written += f"{command.comment}$ {command.line}\n{shown}\n"
        _, _, target = command.line.partition(" > ")
        if target:
            compare(source / target.strip(), content)
        if not UPDATE:
            assert shown.strip() == command.printed.strip(), f"$ {command.line}"
    if UPDATE:
        (source / "session.txt").write_text(written.rstrip("\n") + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str, tmp_path: Path) -> None:
    module = importlib.import_module(f"tests.scenarios.{name}.story")
    told = module.story(tmp_path)
    files = told if isinstance(told, dict) else {"story.txt": told}
    for file, content in files.items():
        compare(HERE / name / "expected" / file, content)


def compare(path: Path, content: str) -> None:
    """What was printed equals the file; with UPDATE the file is written instead."""
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    assert content == path.read_text(encoding="utf-8"), f"{path} differs"


def test_the_clusters_are_what_the_simulator_makes() -> None:
    for name, content in clusters().items():
        compare(HERE / name, content)


def test_every_folder_is_a_scenario() -> None:
    folders = {path.name for path in HERE.iterdir() if path.is_dir() and path.name[0] not in "_."}
    stories = {path.parent.name for path in HERE.glob("*/story.py")}
    assert folders == set(SESSIONS) | stories
    for name in folders:
        assert (HERE / name / "README.md").is_file(), f"{name} has no README.md"


def test_every_transition_of_a_window_is_a_row_of_the_reference_and_a_story() -> None:
    page = (HERE.parents[1] / "docs" / "reference" / "windows.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| \[(\w+)\]\(([^)]+)\) \|$", page, re.MULTILINE)
    assert [target for name, target in rows] == [
        f"../../tests/scenarios/{name}/README.md" for name, _ in rows
    ]
    assert len(rows) == page.count("\n| ") - 1, "a row without a story"
    told = {path.parent.name for path in HERE.glob("*/story.py")}
    named = [name for name, _ in rows]
    assert len(set(named)) == len(named)
    assert set(named) <= told
    assert {name for name in told if re.match(r"w[0-9]{2}_", name)} <= set(named)
