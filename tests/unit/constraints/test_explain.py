"""`gitbot explain`: subjects, every reason in words, scores, the winner, JSON by its schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands.explain import explain as explains
from gitbot.errors import SnapshotError, UsageError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.published import schema_of
from tests.unit.constraints.builders import ZONE, machine, node, pod, zones

APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": ZONE,
                    "labelSelector": {"matchLabels": {"kubevirt.io/domain": "db"}},
                }
            ]
        }
    }
}
SCENE: list[KubernetesObject] = [
    *zones("a", "b"),
    node("c-1", "c", memory="1Gi"),
    *machine("db-1", "a-1", spec=APART),
    *machine("db-2", "b-1"),
    *machine("web-1", "a-2"),
    pod("waiting", phase="Pending", memory="4Gi"),
]


@pytest.fixture
def scene(tmp_path: Path) -> str:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": SCENE}))
    return str(file)


def explain(scene: str, *arguments: str) -> Result:
    """Run the command; an error of gitbot is raised as it is."""
    return CliRunner().invoke(
        explains,
        [*arguments, "--snapshot", scene],
        catch_exceptions=False,
        standalone_mode=False,
    )


def subject(scene: str, *arguments: str) -> dict[str, Any]:
    result = explain(scene, *arguments, "-o", "json")
    document = json.loads(result.stdout)
    jsonschema.validate(document, schema_of("Explanation"))
    found: dict[str, Any] = document["subjects"][0]
    return found


def test_a_vm_is_a_migration_that_starts_now_with_every_reason_in_words(scene: str) -> None:
    text = explain(scene, "db-1").stdout
    assert text.startswith("vm/db-1 in customapp: none of 5 nodes takes it\n")
    assert "its own running pod matches its anti-affinity" in text
    lines = {line.split()[0]: line for line in text.splitlines() if line[:1] in "abc"}
    assert lines["b-1,"].startswith("b-1, b-2 ")  # the same reasons are one row
    assert "zone b already holds customapp/virt-launcher-db-2 on b-1" in lines["b-1,"]
    assert "zone a already holds its own running pod virt-launcher-db-1 on a-1" in lines["a-2"]
    assert "memory: asks 2Gi, 1Gi of 1Gi free, 1Gi missing" in text


def test_the_json_form_holds_all_plugins_scores_and_the_winner(scene: str) -> None:
    found = subject(scene, "vm/web-1")
    assert (found["kind"], found["namespace"]) == ("VirtualMachineInstance", "customapp")
    assert found["feasible"] == ["a-1", "b-1", "b-2"]
    by_name = {item["name"]: item for item in found["nodes"]}
    assert by_name["c-1"]["verdict"] == "unresolvable"
    assert {item["plugin"] for item in by_name["c-1"]["rejections"]} == {
        "NodeAffinity",
        "NodeResourcesFit",
    }
    assert by_name["a-2"]["rejections"][0]["plugin"] == "InterPodAffinity"
    assert found["predicted"] == {"node": "b-2", "tied": ["b-2"]}
    assert by_name["b-2"]["total"] > by_name["a-1"]["total"] > 0
    assert found["targetPod"]["metadata"]["labels"]["kubevirt.io"] == "virt-launcher"
    checks = {check["name"]: check["outcome"] for check in found["preflight"]}
    assert checks["live-migratable"] == "pass"


def test_an_added_node_selector_narrows_the_answer_and_a_collision_fails(scene: str) -> None:
    found = subject(scene, "web-1", "--added-node-selector", f"{ZONE}=b")
    assert found["feasible"] == ["b-1", "b-2"]
    found = subject(scene, "web-1", "--added-node-selector", "kubernetes.io/arch=arm64")
    assert found["feasible"] == ["a-1", "b-1", "b-2"]
    assert any(
        check["name"] == "selector" and check["outcome"] == "fail" for check in found["preflight"]
    )


@pytest.mark.parametrize("kind", ["vm", "vms", "vmi", "VMIs", "virtualmachine"])
def test_a_vm_and_its_instance_are_one_subject(scene: str, kind: str) -> None:
    assert subject(scene, f"{kind}/web-1") == subject(scene, "web-1")


def test_pods_are_judged_as_they_are_placed_ones_without_themselves(scene: str) -> None:
    assert subject(scene, "pod/waiting")["feasible"] == ["a-1", "a-2", "b-1", "b-2"]
    assert subject(scene, "--all-pending")["name"] == "waiting"
    assert "a-1" in subject(scene, "pod/virt-launcher-db-1")["feasible"]


def test_wide_shows_scores_and_the_words_of_the_scheduler(scene: str) -> None:
    text = explain(scene, "web-1", "-o", "wide").stdout
    assert "TaintToleration 100" in text
    assert "(Insufficient memory)" in text
    assert "pass  live-migratable" in text


def test_yaml_holds_the_same_document(scene: str) -> None:
    text = explain(scene, "web-1", "-o", "yaml").stdout
    assert text.startswith("apiVersion: placement.gitbot.dev/v1alpha1\nkind: Explanation\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to explain"),
        (("vm/web-2",), "there is no vm web-2; did you mean web-1?"),
        (
            ("vm/web-1", "-n", "other"),
            "there is no vm web-1 in namespace other; there is one in customapp",
        ),
        (("nodes/a-1",), "found 'nodes/a-1', expected vm/NAME, vmi/NAME or pod/NAME"),
        (("web-1", "--added-node-selector", "zone"), "found 'zone', expected KEY=VALUE"),
        (("customapp/web-1",), "or pod/NAME; -n NAME gives the namespace"),
        (("web-1", "--added-node-selector", "a b=c"), "'a b=c' is not a label: "),
        (("web-1", "--added-node-selector", "a=c d"), "'a=c d' is not a label: "),
        (
            ("web-1", "--added-node-selector", "a=b", "--added-node-selector", "a=c"),
            "found a twice, with b and c",
        ),
        (("pod/waiting", "--added-node-selector", "a=b"), "are about migrations"),
    ],
)
def test_usage_errors_say_what_was_expected(
    scene: str, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        explain(scene, *arguments)
    assert message in str(caught.value)


OFF: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "off", "namespace": "customapp", "uid": "u"},
    "spec": {
        "runStrategy": "Halted",
        "template": {
            "metadata": {"labels": {"app": "off"}},
            "spec": {
                "architecture": "amd64",
                "domain": {
                    "cpu": {"sockets": 4, "model": "Haswell-noTSX"},
                    "memory": {"guest": "2Gi"},
                    "devices": {},
                },
            },
        },
    },
}


def off(tmp_path: Path, **spec: Any) -> str:
    file = tmp_path / "cluster.json"
    vm = {**OFF, "spec": {**OFF["spec"], **spec}}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [vm, *zones("a")]}))
    return str(file)


def test_a_vm_that_is_off_is_explained_as_a_start_with_estimated_requests(tmp_path: Path) -> None:
    """4 vCPU at the ratio of 10 are 400m; memory carries the overhead of the guest."""
    found = subject(off(tmp_path), "vm/off")
    assert found["kind"] == "VirtualMachine"
    assert found["feasible"] == ["a-1", "a-2"]
    checks = {check["name"]: check for check in found["preflight"]}
    assert checks["estimate"]["outcome"] == "warn"
    requests = found["targetPod"]["spec"]["containers"][0]["resources"]["requests"]
    assert requests["cpu"] == "400m"
    assert requests["memory"] == "2340Mi"


def test_a_vm_that_is_off_has_no_migration_to_add_a_selector_to(tmp_path: Path) -> None:
    found = subject(off(tmp_path), "vm/off", "--added-node-selector", f"{ZONE}=nowhere")
    assert found["feasible"] == ["a-1", "a-2"]
    (check,) = [check for check in found["preflight"] if check["name"] == "selector"]
    assert check["outcome"] == "fail"
    assert check["message"] == (
        f"addedNodeSelector {ZONE}=nowhere is left out: a VM that does not run has no migration; "
        "this is where it starts"
    )
    assert (
        "fail  selector: " in explain(off(tmp_path), "off", "--added-node-selector", "a=b").stdout
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"runStrategy": "Allways"},
            "KubeVirt refuses it: spec.runStrategy: Invalid RunStrategy (Allways)",
        ),
        (
            {"runStrategy": None},
            "KubeVirt refuses it: spec.running: RunStrategy must be specified",
        ),
    ],
)
def test_a_run_strategy_that_kubevirt_refuses_is_a_failed_check(
    tmp_path: Path, spec: dict[str, Any], message: str
) -> None:
    found = subject(off(tmp_path, **spec), "off")
    assert {"name": "run-strategy", "outcome": "fail", "message": message} in found["preflight"]
    assert "run-strategy" not in explain(off(tmp_path), "off", "-o", "wide").stdout


def test_what_was_not_taken_from_a_file_is_said_on_stderr(tmp_path: Path) -> None:
    others = tmp_path / "others.yaml"
    others.write_text(
        "kind: Secret\napiVersion: v1\nmetadata: {name: s}\n---\n"
        "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: d}\n"
    )
    file = off(tmp_path, runStrategy="Allways")
    result = explain(file, "off", "--snapshot", str(others))
    column = Path(file).read_text().index('"Allways"') + 1
    assert result.stderr == (
        f"warning: {file}:1:{column}: VirtualMachine customapp/off: spec.runStrategy: "
        "found 'Allways', expected Halted, Manual, Always, RerunOnFailure, Once or WaitAsReceiver; "
        "did you mean Always?\n"
        "passed over, as placement does not read them: 1 Deployment, 1 Secret\n"
    )
    assert "Deployment" not in result.stdout


def test_objects_come_from_standard_input_as_kubectl_prints_them(scene: str) -> None:
    piped = Path(scene).read_bytes()
    arguments = ["pod/waiting", "-n", "customapp", "--snapshot", "-"]
    result = CliRunner().invoke(explains, arguments, input=piped, standalone_mode=False)
    assert result.stdout == explain(scene, "pod/waiting", "-n", "customapp").stdout
    for text, options, message in (
        (b"", (), "standard input: found an empty file"),
        (piped, ("--snapshot", "-"), "standard input can be read once, found it given twice"),
    ):
        result = CliRunner().invoke(
            explains, [*arguments, *options], input=text, standalone_mode=False
        )
        assert message in str(result.exception)


@pytest.mark.parametrize(
    ("machine_spec", "nodes", "message"),
    [
        ({"runStrategy": "Always"}, zones("a"), "db-1 cannot be read: found no spec.template.spec"),
        (
            {"runStrategy": "Always", "template": {"spec": {}}},
            [],
            "found 1 VirtualMachine, expected .* with Node and Pod among them",
        ),
        (
            {"runStrategy": "Always", "template": {"spec": {}}},
            [pod("waiting", phase="Pending")],
            "could not read the nodes",
        ),
    ],
)
def test_what_cannot_be_judged_is_no_verdict(
    tmp_path: Path, machine_spec: KubernetesObject, nodes: list[KubernetesObject], message: str
) -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "db-1", "namespace": "customapp"},
        "spec": machine_spec,
    }
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, vm]}))
    with pytest.raises(SnapshotError, match=message):
        explain(str(file), "db-1")
