"""A file that an option or argument names: understood, or an error; a default never replaces it."""

import json
import shutil
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
        ("a: b", "found no kind, expected DeschedulerPolicy"),
        ("- a", "policy.yaml: "),
        ("a: [b", "policy.yaml:2:1: not YAML"),
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


PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://here"}]
profiles:
- plugins: {score: {disabled: [{name: "*"}]}}
"""


def test_the_schedulers_own_configuration_decides_what_is_predicted(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(PACKING)
    given = ("--scheduler-config", str(file), *AT)
    answer = typed("explain", "web-1", "--no-intents", *given)
    assert answer.code == 0, answer.text
    said = f"{file}:4: extenders is not judged"
    assert said in answer.out, answer.text
    plan = typed("plan", *given)
    assert f"{file}:4" in plan.text, plan.text
    assert "plan/scheduler-profile" in plan.text
    audit = typed("audit", "--no-intents", "-o", "json", *given)
    places = [(item["file"], item["line"]) for item in json.loads(audit.out)["items"]]
    assert (str(file), 4) in places


def test_a_scheduler_configuration_that_is_not_understood_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(PACKING.replace("k8s.io/v1", "k8s.io/v1beta3"))
    for command in (("explain", "web-1"), ("plan",), ("audit", "--no-intents")):
        answer = typed(*command, "--scheduler-config", str(file), *AT)
        assert answer.code == 2, answer.text
        assert f"{file}:2: apiVersion: found" in answer.err


CONFIGURED = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec: {clusters: [{name: iberia, timeZone: Etc/UTC, schedulerConfig: platform/scheduler.yaml}]}
"""


def repository(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """The scenario with a file for the scheduler."""
    shutil.copytree(SCENARIO, folder, dirs_exist_ok=True)
    (folder / ".gitbot.yaml").write_text(CONFIGURED)
    (folder / "platform").mkdir()
    if text is not None:
        (folder / "platform" / "scheduler.yaml").write_text(text)
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("command", [("plan",), ("explain", "web-1"), ("audit", "-o", "json")])
def test_the_configuration_names_the_schedulers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    repository(tmp_path, monkeypatch, PACKING)
    answer = typed(*command, *AT)
    places = ("platform/scheduler.yaml:4", 'platform/scheduler.yaml",\n')
    assert any(place in answer.text for place in places), answer.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "platform/scheduler.yaml: found no such file, expected that of schedulerConfig"),
        (PACKING.replace("/v1", "/v2"), "platform/scheduler.yaml:2: apiVersion: found"),
        ("a: [", "platform/scheduler.yaml:1: "),
    ],
)
def test_a_scheduler_configuration_of_the_repository_with_errors_has_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, said: str
) -> None:
    repository(tmp_path, monkeypatch, text)
    answer = typed("plan", *AT)
    assert answer.code == 1, answer.text
    assert said in answer.text
    assert "settings/scheduler-config" in answer.text
