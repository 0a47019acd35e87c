"""Exemptions count in the protected base only: a change cannot bring its own."""

from gitbot.workflows.core.revision import BundledTexts, Revision, Texts, read_change, read_revision
from tests.unit.policy.test_exemptions import exemption
from tests.unit.policy.test_judging import policy

CONFIGURATION = b"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
spec: {clusters: [{name: iberia}]}
"""
FILES = {".gitbot.yaml": CONFIGURATION, "policies/p.yaml": policy("Plan", "false").encode()}


def base(**more: str) -> Revision:
    files = {**FILES, **{f"policies/{name}.yaml": text.encode() for name, text in more.items()}}
    shipped = BundledTexts(policies={}, templates={})
    found = read_revision(Texts(files=files), cluster="iberia", shipped=shipped)
    assert isinstance(found, Revision)
    return found


def test_an_exemption_of_the_base_counts() -> None:
    assert [item.name for item in base(e=exemption()).policies.exemptions] == ["batch"]


def test_an_exemption_of_a_change_does_not() -> None:
    files = {**FILES, "policies/e.yaml": exemption().encode()}
    assert read_change(Texts(files=files), base()).policies.exemptions == ()


def test_a_change_cannot_take_one_away_either() -> None:
    changed = read_change(Texts(files=FILES), base(e=exemption()))
    assert [item.name for item in changed.policies.exemptions] == ["batch"]


def test_an_exemption_of_an_unknown_policy_is_an_error_of_the_base() -> None:
    found = base(e=exemption(of="nope")).trusted_findings
    assert [finding.code for finding in found] == ["policy/unknown-policy"]
