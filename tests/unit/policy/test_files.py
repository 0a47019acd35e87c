import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from gitbot.documents import read_documents
from gitbot.policy import cases, read_policies
from gitbot.policy.cases import run_tests
from gitbot.policy.policy_files import json_schema

ROOT = Path(__file__).parents[3]
SHIPPED = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in sorted((ROOT / "policies").rglob("*.yaml"))
}
GOOD = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata:
  name: one
spec:
  over: Plan
  validations:
  - expression: size(plan.moves) < 3
    message: too many moves
  validationActions: [Deny]
"""


def test_shipped_policies_and_their_tests_are_clean() -> None:
    policies, findings = read_policies(SHIPPED)
    assert findings == ()
    results, findings = run_tests(SHIPPED, policies)
    assert findings == ()
    assert [result for result in results if not result.passed] == []
    assert {result.policy for result in results} == {item.name for item in policies.policies}


def test_shipped_files_match_their_published_schemas() -> None:
    for file, text in SHIPPED.items():
        (document,), _ = read_documents(text.encode(), file)
        schema = cases.json_schema() if file.endswith(".test.yaml") else json_schema()
        jsonschema.validate(json.loads(json.dumps(document.value)), schema)


@pytest.mark.parametrize(
    ("found", "put", "message"),
    [
        ("size(plan.moves) < 3", "size(plan.moves) < three",
         ("p.yaml:8:36: spec.validations[0].expression: the expression does not compile: "
          "undeclared reference to 'three'; over: Plan has cluster, now, plan")),
        ("size(plan.moves) < 3", '"size(plan.move) < 3"',
         ("p.yaml:8:28: spec.validations[0].expression: the expression does not compile: "
          "plan has no field move; did you mean plan.moves?")),
        ("size(plan.moves) < 3", "move.id == 1",
         ("p.yaml:8:21: spec.validations[0].expression: the expression does not compile: "
          "undeclared reference to 'move.id'; over: Plan has cluster, now, plan")),
        ("size(plan.moves) < 3", "size(plan.moves)",
         ("p.yaml:8:17: spec.validations[0].expression: the expression does not compile: "
          "gives int, expected bool; over: Plan has cluster, now, plan")),
        ("size(plan.moves) < 3", "|\n      true &&\n      nope",
         ("p.yaml:10:7: spec.validations[0].expression: the expression does not compile: "
          "undeclared reference to 'nope'; " "over: Plan has cluster, now, plan")),
        ("over: Plan", "over: Plans",
         ('p.yaml:6:9: spec.over: found "Plans", expected Plan, Move or Intent; '
          "did you mean Plan?")),
        ("    message: too many moves\n", "",
         ("p.yaml:8:5: spec.validations[0]: found neither message nor messageExpression, "
          "expected one of them; say what is wrong and what to do")),
        ("validationActions", "validationAction",
         ('p.yaml:10:3: spec.validationAction: found the unknown field "validationAction", '
          "expected over, matchConditions, variables, validations or validationActions; "
          "did you mean validationActions?")),
        ("PlacementPolicy", "Policy",
         ('p.yaml:2:7: kind: found "Policy", expected PlacementPolicy or '
          "PlacementPolicyExemption; `gitbot schema` lists them")),
    ],
)  # fmt: skip
def test_errors_stand_at_their_place(found: str, put: str, message: str) -> None:
    policies, findings = read_policies({"p.yaml": GOOD.replace(found, put)})
    assert policies.policies == ()
    assert message in [str(finding) for finding in findings]


NAMED = GOOD.replace(
    "  validations:\n",
    """\
  matchConditions:
  - {name: exclude-empty, expression: size(plan.moves) > 0}
  - {name: acme.example/by.hand, expression: "true"}
  variables:
  - {name: most, expression: "3"}
  - {name: some_more, expression: variables.most + 1}
  validations:
""",
).replace("< 3", "< variables.some_more")


def test_names_of_conditions_are_those_that_kubernetes_takes() -> None:
    policies, findings = read_policies({"p.yaml": NAMED})
    assert [policy.name for policy in policies.policies] == ["one"]
    assert findings == ()


@pytest.mark.parametrize(
    ("found", "put", "message"),
    [
        ("exclude-empty", "exclude-",
         ('p.yaml:8:12: spec.matchConditions[0].name: found "exclude-", expected a qualified '
          "name; name part must consist of alphanumeric characters")),
        ("acme.example/by.hand", "exclude-empty",
         ('p.yaml:9:12: spec.matchConditions[1].name: found the name "exclude-empty" again, '
          "expected every name once; rename one of them")),
        ("some_more,", "some-more,",
         ('p.yaml:12:12: spec.variables[1].name: found "some-more", expected letters, digits '
          "and _, first no digit; expressions read it as variables.NAME")),
        ("some_more,", "most,",
         ('p.yaml:12:12: spec.variables[1].name: found the name "most" again, expected every '
          "name once; rename one of them")),
        ("< variables.some_more", "< variables.some_mroe",
         ("p.yaml:14:46: spec.validations[0].expression: the expression does not compile: "
          "variables has no field some_mroe; did you mean variables.some_more?")),
        ('most, expression: "3"', "most, expression: variables.some_more",
         ("p.yaml:11:40: spec.variables[0].expression: the expression does not compile: "
          "variables has no field some_more; variables has none here: an "
          "expression sees those above it")),
    ],
)  # fmt: skip
def test_names_in_a_policy_are_known_and_unique(found: str, put: str, message: str) -> None:
    policies, findings = read_policies({"p.yaml": NAMED.replace(found, put)})
    assert policies.policies == ()
    assert [text for text in map(str, findings) if text.startswith(message)]


def test_a_later_file_replaces_a_policy_and_one_file_may_not() -> None:
    other = GOOD.replace("< 3", "< 9")
    policies, findings = read_policies({"a.yaml": GOOD, "b.yaml": other})
    assert findings == ()
    assert [policy.file for policy in policies.policies] == ["b.yaml"]
    _, findings = read_policies({"a.yaml": f"{GOOD}---\n{other}"})
    assert [str(finding) for finding in findings] == [
        (
            'a.yaml:15:9: metadata.name: found "one" again, expected every name once in a file; '
            "rename one of them"
        )
    ]


def case(expect: str, given: str, message: str = "") -> str:
    return (
        "apiVersion: placement.gitbot.dev/v1alpha1\n"
        "kind: PlacementPolicyTest\n"
        "metadata: {name: t}\n"
        "spec:\n"
        "  policy: one\n"
        "  cases:\n"
        "  - name: c\n"
        f"    given: {given}\n"
        f"    expect: {expect}\n" + (f"    message: {message}\n" if message else "")
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (case("Pass", "{plan: {moves: []}}"), ""),
        (case("Deny", "{plan: {moves: [1, 2, 3]}}", "too many moves"), ""),
        (case("Deny", "{plan: {moves: []}}"), "found Pass, expected Deny"),
        (case("Deny", "{plan: {moves: [1, 2, 3]}}", "other"),
         'found the message "too many moves", expected "other"'),
        (case("Error", "{plan: {}}"), ""),
        (case("Pass", "{plan: {}}"),
         ("found Error, expected Pass: `size(plan.moves) < 3` gave no answer: "
          'Key not found in map : "moves"')),
        (case("Pass", "{move: {}}"),
         "found the variable move, expected cluster, now, plan (over: Plan)"),
        (case("Pass", "{plan: {moves: []}, now: soon}"), "now is not an instant"),
    ],
)  # fmt: skip
def test_cases_pass_or_say_what_they_found(text: str, problem: str) -> None:
    files = {"one.yaml": GOOD, "one.test.yaml": text}
    policies, _ = read_policies(files)
    (result,), findings = run_tests(files, policies)
    assert findings == ()
    assert result.problem.startswith(problem)
    assert result.passed is (problem == "")
    assert (result.file, result.line) == ("one.test.yaml", 7)


def test_a_test_of_an_unknown_policy_is_a_finding() -> None:
    policies, _ = read_policies({"one.yaml": GOOD})
    text = case("Pass", "{plan: {}}").replace("policy: one", "policy: onne")
    results, findings = run_tests({"x.test.yaml": text}, policies)
    assert results == ()
    assert [str(finding) for finding in findings] == [
        (
            'x.test.yaml:5:11: spec.policy: found "onne", expected the name of a policy; '
            "did you mean one?"
        )
    ]
