"""No command about policies takes more than the process for policies may take."""

import json
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.sandbox import policy_runner
from gitbot.adapters.sandbox.policy_runner import LimitedPolicyRunner
from tests.unit.adapters.test_policy_runner import FOREVER, policy
from tests.unit.cli.desk import typed
from tests.unit.workflows.test_check import CONFIGURATION

SNAPSHOT = str(Path(__file__).parents[3] / "examples/plan/cluster.yaml")
MEMORY = "size(lists.range(100000000)) == 1"  # 3 GiB, without the limit
# each `optMap` doubles what stands before it: hours and all memory, without the limits
COMPILED = "optional.of(1)" + ".optMap(x, x)" * 30 + ".hasValue()"
CASE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyTest
metadata: {name: bomb}
spec: {policy: bomb, cases: [{name: one, given: {}, expect: Error, message: MESSAGE}]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    runner = LimitedPolicyRunner(seconds=1)
    monkeypatch.setattr(policy_runner, "the_runner", lambda: runner)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION, "utf-8")
    (tmp_path / "policies").mkdir()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    runner.close()


def write(folder: Path, expression: str, message: str = "") -> None:
    text = policy(expression, name="bomb", over="Plan", message="boom")
    (folder / "policies/bomb.yaml").write_text(text, "utf-8")
    case = CASE.replace("MESSAGE", json.dumps(message))
    (folder / "policies/bomb.test.yaml").write_text(case, "utf-8")


def _most_memory() -> int:
    """MiB that this process had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("words", [("lint",), ("policy", "list"), ("policy", "test", "policies")])
def test_an_expression_that_grows_while_it_is_compiled(here: Path, words: tuple[str, ...]) -> None:
    write(here, COMPILED)
    found = typed(*words)
    assert found.code == 1
    assert "policies/bomb.yaml" in found.text
    assert "the expression does not compile" in found.text


@pytest.mark.parametrize("words", [("test", "policies"), ("test", "--mutate"), ("explain", "bomb")])
def test_cases_that_ask_for_all_memory_have_no_answer(here: Path, words: tuple[str, ...]) -> None:
    before = _most_memory()
    why = f"`{MEMORY}` gave no answer: out of memory: it may use 1024 MiB"
    write(here, MEMORY, why)
    found = typed("policy", *words)
    assert "1 failed" not in found.text
    if words[0] == "explain":
        assert "Error" in found.out
    assert _most_memory() < before + 512


@pytest.mark.parametrize("expression", [MEMORY, COMPILED])
def test_eval(here: Path, expression: str) -> None:
    del here
    found = typed("policy", "eval", expression, "--over", "Plan", "--snapshot", SNAPSHOT)
    assert found.code in (1, 2)
    assert "out of memory" in found.text or "does not compile" in found.text


def test_eval_says_what_it_exceeded(here: Path) -> None:
    del here
    found = typed("policy", "eval", FOREVER, "--over", "Plan", "--snapshot", SNAPSHOT)
    assert found.code == 2
    assert "the expression gives no answer: more than 1 s of processor time" in found.err
