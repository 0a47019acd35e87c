"""What our own CI runs with the action, run here: the same inputs, on the same example."""

from pathlib import Path
from typing import Any

import pytest

from gitbot.documents import read_kubernetes_yaml
from tests.unit.action.stage import ROOT, Runner

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


def steps() -> list[dict[str, Any]]:
    (workflow,) = read_kubernetes_yaml(WORKFLOW.read_bytes(), WORKFLOW.name)
    found = workflow["jobs"]["example"]["steps"]
    return [step for step in found if step["uses"] == "./"]


def test_lint_and_check_are_among_them() -> None:
    assert [step["with"]["command"] for step in steps()] == ["lint", "check"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", steps(), ids=lambda step: str(step["name"]))
def test_each_step_passes_on_the_example(tmp_path: Path, step: dict[str, Any]) -> None:
    runner = Runner(tmp_path)
    given = step["with"]
    arguments = str(given.get("arguments", "")).splitlines()
    code, log = runner.run(ROOT / given["working-directory"], given["command"], *arguments)
    assert code == 0, log
    if given["command"] == "check":
        assert "2 moves" in runner.summary.read_text()
        assert runner.output("digest").startswith("sha256:")
