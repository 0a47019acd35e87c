"""`gitbot plan` has every VM that an intent names in its answer; no words contradict the moves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, vm
from tests.unit.cli.desk import Said, typed

NOW = "2026-12-06T21:00:00Z"
API = "apiVersion: placement.gitbot.dev/v1alpha1"
CONFIGURATION = f"""\
{API}
kind: Configuration
metadata: {{name: default}}
spec:
  mode: Enforce
  clusters: [{{name: lab}}]
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "intents" / "lab").mkdir(parents=True)
    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def intent(kind: str, name: str, spec: str) -> str:
    space = "" if kind == "MaintenanceWindow" else ", namespace: default"
    return f"{API}\nkind: {kind}\nmetadata: {{name: {name}{space}}}\nspec: {spec}\n"


def planned(tree: Path, objects: Sequence[tuple[KubernetesObject, ...]], *intents: str) -> Said:
    items = [obj for group in objects for obj in group]
    (tree / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    for number, text in enumerate(intents):
        (tree / "intents" / "lab" / f"{number}.yaml").write_text(text)
    return typed("plan", "--snapshot", "cluster.json", "--now", NOW, "-o", "json")


def holds(said: Said) -> list[tuple[str, str, bool, str]]:
    return [
        (item["vm"]["name"], item["code"], item["asked"], item["reason"])
        for item in json.loads(said.out)["holds"]
    ]


def moves(said: Said) -> list[tuple[str, str, str]]:
    return [
        (item["vm"]["name"], item["from"]["node"], item["to"]["node"])
        for item in json.loads(said.out)["moves"]
    ]


def hosts(**memory: str) -> list[tuple[KubernetesObject, ...]]:
    return [(node(name, memory=amount),) for name, amount in memory.items()]


def idle(name: str, phase: str) -> tuple[KubernetesObject, ...]:
    """A VMI that a selector matches and that is on no node yet."""
    made: dict[str, Any] = dict(vm(name, on="a", labels={"app": "db"})[0])
    made["status"] = {"phase": phase}
    return (made,)


def test_a_hold_of_a_vm_that_moves_says_that_it_is_about_its_next_move(tree: Path) -> None:
    vms = [vm("v1", on="a", memory="3Gi"), vm("v2", on="b", memory="3Gi")]
    window = "{nodes: {names: [a, b]}, drain: {reboot: PT10M}}"
    said = planned(tree, [*hosts(a="4Gi", b="8Gi"), *vms], intent("MaintenanceWindow", "w", window))
    assert moves(said) == [("v1", "a", "b")]
    told = {name: words.partition("; the plan")[2] for name, *_, words in holds(said)}
    assert told == {"v1": " moves it to b; this is about its next move, from there", "v2": ""}


def test_reports_a_vm_that_leaves_the_node_where_a_request_wants_it(tree: Path) -> None:
    request = intent("MigrationRequest", "q", "{vms: {names: [v1]}, target: {node: a}}")
    window = intent("MaintenanceWindow", "w", "{nodes: {names: [a]}}")
    said = planned(tree, [*hosts(a="8Gi", b="8Gi"), vm("v1", on="a")], request, window)
    assert moves(said) == [("v1", "a", "b")]
    reason = "it is on a, as asked, but MaintenanceWindow w moves it to b"
    assert holds(said) == [("v1", "taken-away", False, reason)]
    assert "it moves none of them" in said.text


def test_names_the_vms_that_a_selector_takes_and_that_do_not_run(tree: Path) -> None:
    objects = [*hosts(a="8Gi", b="8Gi"), vm("v1", on="a", labels={"app": "db"})]
    spec = "{vms: {selector: {matchLabels: {app: db}}}, target: {node: b}}"
    said = planned(
        tree,
        [*objects, idle("v2", "Pending"), idle("v3", "Scheduling")],
        intent("MigrationRequest", "q", spec),
    )
    assert moves(said) == [("v1", "a", "b")]
    left = "selects VMs that run on no node, and leaves them out: v2 (Pending), v3 (Scheduling)"
    assert [item["code"] for item in json.loads(said.out)["findings"] if left in item["message"]]


def test_a_vm_that_is_between_two_nodes_of_a_drain_is_held_once(tree: Path) -> None:
    vmi, launcher = vm("v1", on="a")
    status = {"migrationState": {"sourceNode": "a", "targetNode": "b"}}
    pods = {**vmi["status"]["activePods"], "second": "b"}
    flying = {**vmi, "status": {**vmi["status"], **status, "activePods": pods}}
    second = {
        **launcher,
        "metadata": {**launcher["metadata"], "name": "virt-launcher-v1-2", "uid": "second"},
        "spec": {**launcher["spec"], "nodeName": "b"},
    }
    migration: KubernetesObject = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "by-hand", "namespace": "default", "uid": "by-hand"},
        "spec": {"vmiName": "v1"},
        "status": {"phase": "Running"},
    }
    window = intent("MaintenanceWindow", "w", "{nodes: {names: [a, b]}}")
    objects = [*hosts(a="8Gi", b="8Gi", c="8Gi"), (flying, launcher, second, migration)]
    said = planned(tree, objects, window)
    assert [(name, code, asked) for name, code, asked, _ in holds(said)] == [
        ("v1", "in-flight", True)
    ]


def test_words_about_a_pod_that_a_move_creates_name_its_vm(tree: Path) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    x = {"app": "x"}
    vms = [vm(f"v{number}", on=name, labels=x, affinity=apart) for number, name in enumerate("ab")]
    spec = "{vms: {names: [v0, v1]}, target: {node: c}}"
    request = intent("MigrationRequest", "q", spec)
    said = planned(tree, [*hosts(a="8Gi", b="8Gi", c="8Gi"), *vms], request)
    [(moved, _, to)] = moves(said)
    [held] = json.loads(said.out)["holds"]
    assert (moved, to) != (held["vm"]["name"], "a")
    assert f"{moved}, moved on c" in json.dumps(held["nodes"])
    assert "-target-" not in said.out


def test_a_request_that_is_met_takes_back_no_vm_that_another_request_moved(tree: Path) -> None:
    leave = intent("MigrationRequest", "leave", "{vms: {names: [v1]}}")
    stay = intent("MigrationRequest", "stay", "{vms: {names: [v1]}, target: {node: a}}")
    said = planned(tree, [*hosts(a="8Gi", b="8Gi"), vm("v1", on="a")], leave, stay)
    assert moves(said) == [("v1", "a", "b")]
    reason = "it is on a, as asked, but MigrationRequest leave moves it to b"
    assert holds(said) == [("v1", "taken-away", False, reason)]
