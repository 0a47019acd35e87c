"""A file that an option or argument names: understood, or an error; a default never replaces it."""

from pathlib import Path

import pytest

from tests.unit.cli.desk import typed

SCENARIO = Path(__file__).parents[2] / "scenarios" / "what_if"
AT = ("--snapshot", "cluster.yaml", "--now", "2026-12-01T01:00:00Z")
SLIDE = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: slide
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}
    plugins:
      balance: {enabled: [LowNodeUtilization]}
"""
REQUEST = """
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: out, namespace: default}
spec: {vms: {names: [web-1]}, target: {node: node-c}}
"""
NO_VM_YET = """
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementRule
metadata: {name: later, namespace: default}
spec:
  selector: {matchLabels: {app: not-there-yet}}
  antiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: not-there-yet}}}
"""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SCENARIO)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SLIDE, "LowNodeUtilization in slide, not enabled under plugins.balance"),
        (SLIDE.replace("LowNode", "HighNode").replace("    plugins", "  plugins"), "HighNode"),
        (SLIDE.replace("v1alpha2", "v1alpha1"), "expected descheduler/v1alpha2"),
        ("kind: KubeDescheduler\nspec: {profiles: [TopologyAndDuplicates]}", "spec.profiles"),
    ],
)
def test_a_policy_that_is_not_understood_ends_the_audit(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    answer = typed("audit", "--no-intents", "--descheduler", str(file), *AT)
    assert answer.code == 2, answer.text
    assert said in answer.err
    assert answer.out == ""


@pytest.mark.parametrize(("text", "code"), [(REQUEST, 2), (NO_VM_YET, 0)])
def test_simulate_rule_takes_rules_alone(tmp_path: Path, text: str, code: int) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(text)
    answer = typed("simulate", "rule", str(file), *AT)
    assert answer.code == code, answer.text
    assert ("found MigrationRequest/default/out, expected rules" in answer.err) == (code == 2)
