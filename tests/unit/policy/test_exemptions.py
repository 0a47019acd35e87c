"""Exemptions: what they cover, how long, and what reports say about them."""

from dataclasses import replace

import pytest

from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import PlacementProblem
from gitbot.policy import judge, misdirected, read_policies
from tests.unit.policy.test_judging import INTENTS, SNAPSHOT, policy
from tests.unit.reports.plans import PLAN, STARTS

DAY = "2025-12-06T00:00:00Z"  # the plan starts on 2025-12-05


def exemption(more: str = "", *, expires: str = DAY, of: str = "tried") -> str:
    return f"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyExemption
metadata: {{name: batch}}
spec:
  policy: {of}
{more}  reason: the vendor mends it in January
  owner: acme/platform
  expires: "{expires}"
"""


def said(text: str, *, over: str = "Move", expression: str = "false") -> list[tuple[str, str]]:
    passes = policy(over, "true").replace("tried", "other")
    files = {"p.yaml": policy(over, expression), "q.yaml": passes, "e.yaml": text}
    policies, findings = read_policies(files)
    assert findings == ()
    assert misdirected(policies, b"") == ()
    verdict = judge(
        plan=replace(PLAN, moves=PLAN.moves[:1]),
        problem=PlacementProblem(cluster="iberia", now=STARTS, snapshot=SNAPSHOT),
        intents=INTENTS,
        policies=policies,
        now=STARTS,
    )
    return [(str(finding.severity), finding.message) for finding in verdict.findings]


EXEMPT = f"; exempt until {DAY} by batch of acme/platform: the vendor mends it in January"
EXPIRED = "; exemption batch of acme/platform expired at 2025-12-05T00:00:00Z and no longer counts"


@pytest.mark.parametrize(
    ("text", "severity", "words"),
    [
        pytest.param(exemption(), "note", EXEMPT, id="everything"),
        pytest.param(exemption("  subjects: [customapp/*]\n"), "note", EXEMPT, id="its subject"),
        pytest.param(exemption("  subjects: [bank/*]\n"), "error", "", id="another subject"),
        pytest.param(exemption(of="other"), "error", "", id="another policy"),
        pytest.param(exemption(expires="2025-12-05T00:00:00Z"), "error", EXPIRED, id="expired"),
    ],
)
def test_a_deny(text: str, severity: str, words: str) -> None:
    ((found, message),) = said(text)
    assert found == severity
    assert message.partition(": ")[2] == f"refused{words}"


def test_an_expression_without_an_answer_denies_all_the_same() -> None:
    ((severity, message),) = said(exemption(), expression="vm.labels['nope'] == 'x'")
    assert severity == str(Severity.ERROR)
    assert "exempt" not in message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (exemption().replace("  owner: acme/platform\n", ""), "policy/missing-field"),
        (exemption().replace("the vendor mends it in January", "''"), "policy/empty"),
        (exemption(expires="tomorrow"), "policy/time"),
        (exemption().replace(f'  expires: "{DAY}"\n', ""), "policy/missing-field"),
    ],
)
def test_reason_owner_and_expiry_are_required(text: str, code: str) -> None:
    policies, findings = read_policies({"e.yaml": text})
    assert policies.exemptions == ()
    assert [finding.code for finding in findings] == [code]
    assert findings[0].line


def test_an_exemption_of_a_policy_that_is_not_in_force() -> None:
    policies, _ = read_policies({"p.yaml": policy("Plan", "true"), "e.yaml": exemption(of="tired")})
    (finding,) = misdirected(policies, b"")
    assert (finding.code, finding.file, finding.line) == ("policy/unknown-policy", "e.yaml", 1)
    assert finding.hint == "did you mean tried?"


@pytest.mark.parametrize(
    ("over", "subjects", "codes"),
    [
        ("Plan", "[app/db]", ["policy/exempts-nothing"]),
        ("Plan", "['*']", []),
        ("Plan", "[]", []),
        ("Move", "[app/db]", []),
    ],
)
def test_a_policy_over_plan_has_no_subjects(over: str, subjects: str, codes: list[str]) -> None:
    text = exemption(f"  subjects: {subjects}\n")
    policies, found = read_policies({"p.yaml": policy(over, "true"), "e.yaml": text})
    assert found == ()
    assert [finding.code for finding in misdirected(policies, b"")] == codes


def test_an_override_of_a_policy_that_is_not_in_force_is_a_warning_at_its_place() -> None:
    policies, _ = read_policies({"p.yaml": policy("Plan", "true")})
    text = b"spec:\n  overrides:\n  - policy: tried\n  - policy: tired\n"
    (finding,) = misdirected(policies, text)
    assert (finding.code, finding.severity) == ("policy/unknown-policy", Severity.WARNING)
    assert (finding.file, finding.line, finding.hint) == (".gitbot.yaml", 4, "did you mean tried?")
