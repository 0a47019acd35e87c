"""Every shipped policy has its generated page, a passing and a failing case.

`UPDATE_PAGES=1 python -m pytest tests/unit/policy/test_pages.py` writes the pages.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitbot.policy import pack_of, read_policies
from gitbot.policy.cases import run_tests, survivors
from gitbot.policy.engine import EXTENSIONS, compile_expression, evaluate
from gitbot.policy.pages import page, variables_page
from tests.unit.policy.test_files import SHIPPED

FOLDER = Path(__file__).parents[3] / "docs" / "reference" / "policies"
POLICIES, _ = read_policies(SHIPPED)
RESULTS, _ = run_tests(SHIPPED, POLICIES)
PAGES = {
    "variables.md": variables_page(),
    **{
        f"{pack_of(policy.file)}/{policy.name}.md": page(policy, RESULTS)
        for policy in POLICIES.policies
    },
}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_are_generated(name: str) -> None:
    if os.environ.get("UPDATE_PAGES") == "1":
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(PAGES[name], encoding="utf-8")
    assert (FOLDER / name).read_text("utf-8") == PAGES[name]


def test_there_is_no_page_without_a_policy() -> None:
    assert {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md")} == set(PAGES)


@pytest.mark.parametrize("policy", [policy.name for policy in POLICIES.policies])
def test_every_policy_says_why_and_has_a_passing_and_a_failing_case(policy: str) -> None:
    found = POLICIES.find(policy)
    assert found is not None
    assert found.description.endswith(".")
    expected = {result.expect for result in RESULTS if result.policy == policy}
    assert expected & {"Pass", "Skip"}
    assert expected & {"Deny", "Warn", "Audit"}


def test_no_validation_can_be_removed_unnoticed() -> None:
    assert survivors(SHIPPED, POLICIES) == ()


def test_a_validation_that_no_case_needs_is_named() -> None:
    text = SHIPPED["policies/safety/quorum.yaml"].replace(
        "  validations:\n", "  validations:\n  - expression: 'true'\n    message: never\n"
    )
    files = {**SHIPPED, "policies/safety/quorum.yaml": text}
    policies, findings = read_policies(files)
    assert findings == ()
    assert [(policy.name, index) for policy, index in survivors(files, policies)] == [("quorum", 0)]


@pytest.mark.parametrize(
    ("extension", "expression"),
    [
        ("bindings", "cel.bind(x, 2, x * x) == 4"),
        ("lists", "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].slice(0, 1) == [1]"),
        ("lists", "[[1], [2]].flatten() == [1, 2] && [1, 1].distinct() == [1]"),
        ("lists", "lists.range(2) == [0, 1] && [1, 2].reverse() == [2, 1]"),
        ("lists", "[{'a': 2}, {'a': 1}].sortBy(x, x.a)[0].a == 1"),
        ("math", "math.greatest(1, 2) == 2 && math.least(1, 2) == 1 && math.abs(-1) == 1"),
        ("math", "math.ceil(1.2) == 2.0 && math.floor(1.2) == 1.0 && math.round(1.2) == 1.0"),
        ("optional", "{'a': 1}[?'b'].orValue(2) == 2 && !{'a': 1}[?'b'].hasValue()"),
        ("optional", "{'a': 1}.?a.optMap(x, x + 1).orValue(0) == 2"),
        ("sets", "sets.contains([1, 2], [1]) && sets.equivalent([1, 2], [2, 1])"),
        ("sets", "sets.intersects([1, 2], [2, 3])"),
        ("strings", "'%d'.format([1]) == '1' && ['a', 'b'].join(',') == 'a,b'"),
        ("strings", "'ab'.charAt(0) == 'a' && 'ab'.indexOf('b') == 1 && 'AB'.lowerAscii() == 'ab'"),
        ("strings", "'ab'.replace('a', 'c') == 'cb' && 'a b'.split(' ') == ['a', 'b']"),
        ("strings", "' a '.trim() == 'a'"),
        ("two-var-comprehensions", "[1, 2].exists(i, v, i == 1 && v == 2)"),
        ("two-var-comprehensions", "{'a': 1}.transformList(k, v, k) == ['a']"),
    ],
)
def test_the_listed_functions_exist(extension: str, expression: str) -> None:
    assert extension in EXTENSIONS
    program = compile_expression(expression, names=frozenset(), returns="bool")
    assert evaluate(program, {}) is True
