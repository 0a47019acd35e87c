"""`Install on GitHub in ten minutes`, typed as it stands, and held to the workflows it brings."""

import re
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from tests.docs.blocks import blocks
from tests.docs.scratch import ROOT, Scratch
from tests.docs.test_walk import MARKS, walk

PAGE = "docs/install-on-github.md"
TEXT = (ROOT / PAGE).read_text("utf-8")
WORKFLOWS = ShippedTexts().workflows()
WRITTEN = sorted(WORKFLOWS.keys() - {"site.yml"})  # that one only where somebody asks for it
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.timeout(300)
def test_what_can_be_typed_without_github_works_as_typed(tmp_path: Path) -> None:
    (tmp_path / "walk").mkdir()
    scratch = Scratch(folder=tmp_path / "walk", state=tmp_path / "state")
    scratch.run(f"export COMMIT={COMMIT}; git init --quiet --initial-branch=main")
    assert list(walk(PAGE, scratch)) == []
    written = scratch.folder / ".github" / "workflows"
    assert sorted(path.name for path in written.iterdir()) == WRITTEN
    assert f"uses: acme/gitbot@{COMMIT}" in (written / "plan.yml").read_text()
    assert "mode: Observe" in (scratch.folder / ".gitbot.yaml").read_text()


def test_marks_are_known_and_used() -> None:
    found = {block.mark for block in blocks(ROOT / PAGE)}
    assert found <= MARKS
    assert "runnable" in found


def test_the_table_has_every_workflow() -> None:
    rows = re.findall(r"^\| `(\w+\.yml)` \|", TEXT, re.MULTILINE)
    assert sorted(rows) == WRITTEN


def test_every_secret_is_set_in_the_environment_that_reads_it() -> None:
    told = set(re.findall(r"gh secret set (\w+) --env (\S+)", TEXT))
    used = set()
    for text in WORKFLOWS.values():
        environments = set(re.findall(r"environment: (\S+(?: [^\n#]*}})?)", text))
        for place in environments:
            named = re.sub(r"\$\{\{.*\}\}", "prod", place)
            used |= {(secret, named) for secret in re.findall(r"secrets\.(\w+)", text)}
    assert told == used


def test_every_variable_of_the_workflows_is_told() -> None:
    running = (ROOT / "docs" / "running.md").read_text("utf-8")
    variables = {name for text in WORKFLOWS.values() for name in re.findall(r"vars\.(\w+)", text)}
    assert all(name in TEXT + running for name in variables)


def test_every_file_that_is_sent_is_there() -> None:
    sent = re.findall(r"--input ([^-\s]\S*)", TEXT)
    assert len(sent) == 3
    assert all((ROOT / name.removeprefix("../gitbot/")).is_file() for name in sent)
