"""Each change fragment is one short line with a known type, and towncrier can build from them."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
FRAGMENTS = ROOT / SETTINGS["directory"]
TYPES = {kind["directory"]: kind["name"] for kind in SETTINGS["type"]}
NAME = re.compile(rf"\+[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(TYPES)})\.md")


def faults(folder: Path) -> list[str]:
    """Each fragment whose name or text has not the form that CONTRIBUTING.md asks for."""
    found = []
    for path in sorted(folder.iterdir()):
        text = path.read_text("utf-8")
        if path.name == "README.md":
            continue
        if not NAME.fullmatch(path.name):
            found.append(f"{path.name}: name")
        elif not re.fullmatch(r"\S[^\n]*\n", text):
            found.append(f"{path.name}: not one line")
        elif len(text) > 101:
            found.append(f"{path.name}: more than 100 characters")
    return found


def draft(project: Path) -> str:
    """The release notes that towncrier would write for a project folder."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    run = subprocess.run(
        [*command, "--date", "2026-12-06"], cwd=project, capture_output=True, text=True, check=True
    )
    return run.stdout


def test_fragments_are_well_formed() -> None:
    assert faults(FRAGMENTS) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("+drain-order.fixed.md", "`gitbot drain` keeps the order of its arguments.\n", ""),
        ("+longest.added.md", "x" * 100 + "\n", ""),
        ("+too-long.added.md", "x" * 101 + "\n", "more than 100 characters"),
        ("+two-lines.added.md", "One.\nTwo.\n", "not one line"),
        ("+empty.added.md", "", "not one line"),
        ("+no-end.added.md", "No line end", "not one line"),
        ("+unknown.improved.md", "A type that is not configured.\n", "name"),
        ("17.added.md", "The number of a ticket.\n", "name"),
        ("+Capital.added.md", "A capital letter.\n", "name"),
    ],
)
def test_a_fragment_of_another_form_is_a_fault(
    tmp_path: Path, name: str, text: str, fault: str
) -> None:
    (tmp_path / "README.md").write_text("# Two\nlines\n", "utf-8")
    (tmp_path / name).write_text(text, "utf-8")
    assert faults(tmp_path) == ([f"{name}: {fault}"] if fault else [])


def test_towncrier_drafts_the_fragments_of_the_repository() -> None:
    drafted = draft(ROOT)
    lines = [path.read_text("utf-8").strip() for path in FRAGMENTS.glob("+*.md")]
    assert "## 9.9.9 (2026-12-06)" in drafted
    assert [line for line in lines if f"- {line}\n" not in drafted] == []


def test_towncrier_puts_each_type_under_its_heading(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    folder = tmp_path / FRAGMENTS.name
    folder.mkdir()
    for kind in TYPES:
        (folder / f"+one.{kind}.md").write_text(f"Something {kind}.\n", "utf-8")
    sections = "\n\n".join(f"### {name}\n\n- Something {kind}." for kind, name in TYPES.items())
    assert sections in draft(tmp_path)
