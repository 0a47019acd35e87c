"""The examples of docs/reference/policies.md do what the page says."""

import re
from pathlib import Path

from gitbot.policy import read_policies
from gitbot.policy.cases import run_tests

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "policies.md").read_text("utf-8")


def test_the_example_compiles_and_its_test_passes() -> None:
    policy, test = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    policies, findings = read_policies({"databases-at-night.yaml": policy})
    assert findings == ()
    results, findings = run_tests({"databases-at-night.test.yaml": test}, policies)
    assert findings == ()
    assert [result.problem for result in results] == [""]


def test_the_page_lists_every_pack() -> None:
    folder = Path(__file__).parents[3] / "policies"
    shipped = {
        (path.parent.name, path.stem)
        for path in folder.glob("*/*.yaml")
        if not path.name.endswith(".test.yaml")
    }
    row = r"^\| \[`([a-z-]+)`\]\(policies/([a-z]+)/\1\.md\) \| (?:Deny|Warn|Audit) \|"
    assert {(pack, name) for name, pack in re.findall(row, PAGE, re.MULTILINE)} == shipped
