"""What is registered from outside works in every command, and no module of gitbot names it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAMES = ("cupboard", "drawer", "tabbed", "movelist", "season")
POLICY = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: only-in-summer}
spec:
  over: Plan
  validations:
  - expression: season.name == 'summer'
    messageExpression: "'it is ' + season.name"
  validationActions: [Warn]
"""


def gitbot(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.unit.extension", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as `init` writes it for the new forge, with a rule, a request and a policy."""
    place = tmp_path_factory.mktemp("work") / "intents"
    place.mkdir()
    done = gitbot(place, "init", "--forge", "cupboard", "--drawer", "top", "--cluster", "lab")
    assert done.returncode == 0, done.stderr
    for path in (place / "intents/lab").rglob("*.yaml"):
        path.unlink()
    for path in sorted((ROOT / "examples/plan/intents").rglob("*.yaml")):
        target = place / path.relative_to(ROOT / "examples/plan")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (place / "policies").mkdir()
    (place / "policies/season.yaml").write_text(POLICY)
    return place


def plan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    snapshot, now = ROOT / "examples/plan/cluster.yaml", "2026-12-06T21:00:00Z"
    return gitbot(folder, *words, "--snapshot", str(snapshot), "--now", now)


def test_init_writes_the_settings_of_the_forge_and_names_its_option(folder: Path) -> None:
    assert "forge: {type: cupboard, repository: top}" in (folder / ".gitbot.yaml").read_text()
    assert "Put it into the drawer." in (folder / "README.md").read_text()
    assert "cupboard: which drawer." in gitbot(folder, "init", "--help").stdout
    foreign = gitbot(folder, "init", "--drawer", "top")
    assert "--drawer is about the cupboard" in foreign.stderr


def test_lint_takes_forge_format_and_variable(folder: Path) -> None:
    clean = gitbot(folder, "lint", "-o", "tabbed")
    assert (clean.returncode, clean.stdout) == (0, ""), clean.stderr
    settings = folder / ".gitbot.yaml"
    right = settings.read_text()
    settings.write_text(right.replace("repository: top", "repository: TOP"))
    try:
        wrong = gitbot(folder, "lint")
        assert "found TOP, expected a drawer; write small letters" in wrong.stdout
        assert (
            gitbot(folder, "lint", "-o", "tabbed").stdout == ".gitbot.yaml\tsettings/repository\n"
        )
        settings.write_text(right.replace("type: cupboard", "type: cupbord"))
        assert "did you mean cupboard?" in gitbot(folder, "lint").stdout
    finally:
        settings.write_text(right)


def test_the_schema_has_the_forge(folder: Path) -> None:
    schema = json.loads(gitbot(folder, "schema", "Configuration").stdout)
    fields = schema["$defs"]["ForgeSettings"]["properties"]
    assert fields["type"]["enum"] == ["local", "github", "gitea", "gitlab", "cupboard"]
    assert "cupboard: name of a drawer" in fields["repository"]["description"]


def test_a_plan_is_written_as_the_new_report_and_judged_by_the_variable(
    folder: Path, tmp_path: Path
) -> None:
    shown = plan(folder, "plan", "-o", "movelist")
    assert re.fullmatch(r"(\S+ > \S+\n)+", shown.stdout), shown.stderr
    found = plan(folder, "check", "-o", "tabbed", "--reports", str(tmp_path))
    assert "policy/only-in-summer" in found.stdout, found.stderr
    assert (tmp_path / "movelist.txt").read_text() == shown.stdout
    assert (tmp_path / "tabbed.tsv").read_text() == found.stdout


def test_completion_and_pages_have_them(folder: Path) -> None:
    assert gitbot(folder, "COMPLETE", "plan", "-o", "m").stdout.split() == ["markdown", "movelist"]
    assert gitbot(folder, "COMPLETE", "init", "--forge", "c").stdout.split() == ["cupboard"]
    assert "| `season` | Plan | the season of the year |" in gitbot(folder, "page").stdout


def test_no_module_of_gitbot_names_them() -> None:
    words = re.compile("|".join(NAMES))
    sources = sorted((ROOT / "gitbot").rglob("*.py"))
    assert [path.name for path in sources if words.search(path.read_text(encoding="utf-8"))] == []


def test_only_the_forge_and_the_tables_name_its_type() -> None:
    """A comparison anywhere else would be a behaviour that a new forge cannot have."""
    compared = re.compile(r"""[=!]= ?["']github["']|["']github["'] ?[=!]=|\bforge\.type [=!]""")
    sources = sorted((ROOT / "gitbot").rglob("*.py"))
    assert [path.name for path in sources if compared.search(path.read_text("utf-8"))] == []
