"""Every shipped policy has its generated page, a passing and a failing case.

`UPDATE_PAGES=1 python -m pytest tests/unit/policy/test_pages.py` writes the pages.
"""

import os
import re
from pathlib import Path

import pytest

from gitbot.policy import pack_of, read_policies
from gitbot.policy.cases import run_tests, survivors
from gitbot.policy.cel_engine import EXTENSIONS, compile_expression, evaluate
from gitbot.policy.errors import EvaluationError, ExpressionError
from gitbot.policy.reference_pages import page, variables_page
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
        ("two-var-comprehensions", "[1, 2].transformMap(i, v, i > 0, v + 1) == {1: 3}"),
        ("two-var-comprehensions", "{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}"),
    ],
)
def test_the_listed_functions_exist(extension: str, expression: str) -> None:
    assert extension in EXTENSIONS
    program = compile_expression(expression, names=frozenset(), returns="bool")
    assert evaluate(program, {}) is True


@pytest.mark.parametrize(
    "expression",
    [
        "quantity('1Gi') == quantity('1024Mi') && quantity('2').isGreaterThan(quantity('1'))",
        "!quantity('1000m').isInteger() && quantity('1k').asInteger() == 1000 && !isQuantity('x')",
        "sign(quantity('-1')) == -1 && quantity('1').add(1).sub(quantity('1')) == quantity('1')",
        "semver('1.2.3-a.1').isLessThan(semver('1.2.3-a.b')) && semver('v1.2', true).patch() == 0",
        "ip('::1').isLoopback() && string(ip('2001:DB8::1')) == '2001:db8::1' && !isIP('01.2.3.4')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.1.2.3/8').prefixLength() == 8",
        "url('https://a:80/b c?q=1&q=2').getQuery()['q'] == ['1', '2'] && !isURL('../a')",
        "url('https://[::1]:80/b c').getEscapedPath() == '/b%20c'",
        "url('https://[::1]:80/b').getPort() == '80' && url('//a').getHost() == 'a'",
        "!format.dns1123Label().validate('a-b').hasValue() && format.named('uuid').hasValue()",
        "format.labelValue().validate('-').value() == ['is not a valid labelValue']",
        "[1, 2].sum() == 3 && [2.5, 1.5].min() == 1.5 && ['a', 'b'].indexOf('b') == 1",
        "[1, 2, 2].isSorted() && [1, 1].lastIndexOf(1) == 1 && ['a', 'c'].max() == 'c'",
        "'a1b22'.find('([a-z])([0-9])') == 'a1' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'aaa'.findAll('^a') == ['a'] && 'ab'.findAll('x*') == ['', '', '']",
        "'aa'.findAll('a', 1) == ['a'] && 'é1'.findAll('[0-9]') == ['1']",
        "1 < 1.5 && 2u >= 1.0",
    ],
)
def test_functions_of_kubernetes_do_what_they_do_there(expression: str) -> None:
    program = compile_expression(expression, names=frozenset(), returns="bool")
    assert evaluate(program, {}) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("quantity('1') + 1", "applied to '(kubernetes.Quantity, int)'"),
        ("quantity('1').isLessThan(semver('1.0.0'))", "'(kubernetes.Quantity, kubernetes.Semver)'"),
        ("ip('::').containsIP('::')", "applied to '(net.IP, string)'"),
    ],
)
def test_their_types_are_checked_when_a_file_is_read(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        compile_expression(expression, names=frozenset())


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("quantity('x') == quantity('1')", "'x' is not a Kubernetes quantity"),
        ("dyn(quantity('1')).isLessThan(semver('1.0.0'))", "no matching overload of isLessThan"),
        ("{'a': {'b': 1}}.isLessThan(quantity('1'))", "no matching overload of isLessThan"),
        ("[].min() == 1", "min called on empty list"),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        ("'a'.find('(') == ''", "invalid regular expression"),
    ],
)
def test_what_they_cannot_answer_is_an_error(expression: str, message: str) -> None:
    program = compile_expression(expression, names=frozenset(), returns="bool")
    with pytest.raises(EvaluationError, match=re.escape(message)):
        evaluate(program, {})
