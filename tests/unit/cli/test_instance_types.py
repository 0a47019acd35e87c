"""VMs that are off and sized by an instance type: their pods, and what a snapshot lacks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitbot.constraints.moves import instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.instance_types import TypeCatalog, UnreadableType, expanded
from tests.doubles.problems import node
from tests.unit.cli.desk import typed

CLUSTER = "VirtualMachineClusterInstancetype"
GROUP = "instancetype.kubevirt.io/v1beta1"
LARGE = {"cpu": {"guest": 8}, "memory": {"guest": "32Gi"}}


def made(kind: str, name: str, spec: Mapping[str, Any]) -> KubernetesObject:
    place = {} if "Cluster" in kind else {"namespace": "default"}
    metadata = {"name": name, **place}
    return {"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def revision(name: str, kind: str, of: str, spec: Mapping[str, Any]) -> KubernetesObject:
    labels = {
        "instancetype.kubevirt.io/object-kind": kind,
        "instancetype.kubevirt.io/object-name": of,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "data": {"apiVersion": GROUP, "kind": kind, "spec": dict(spec)},
        "revision": 0,
    }


def off(
    domain: Mapping[str, Any] | None = None, status: Mapping[str, Any] | None = None, **spec: Any
) -> KubernetesObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "erp", "namespace": "default"},
        "spec": {
            "runStrategy": "Halted",
            "template": {"spec": {"domain": {"devices": {}, **(domain or {})}}},
            **spec,
        },
        "status": dict(status or {}),
    }


def catalog(*objects: KubernetesObject) -> TypeCatalog:
    def name(obj: KubernetesObject) -> NamespacedName:
        metadata = obj["metadata"]
        return NamespacedName(namespace=metadata.get("namespace", ""), name=metadata["name"])

    stored = [obj for obj in objects if obj["kind"] == "ControllerRevision"]
    return TypeCatalog(
        types={(obj["kind"], name(obj)): obj for obj in objects if obj not in stored},
        revisions={name(obj): obj for obj in stored},
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(objects: Sequence[KubernetesObject], *words: str) -> str:
    nodes = (node("n1", memory="64Gi", labels={"tier": "gold"}), node("n2", memory="8Gi"))
    items = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *objects]}
    Path("cluster.json").write_text(json.dumps(items))
    return typed(*words, "--snapshot", "cluster.json").out


@pytest.mark.parametrize("kind", ["", CLUSTER, CLUSTER.lower(), f"{CLUSTER}s"])
def test_an_instance_type_sizes_a_vm_that_is_off(kind: str) -> None:
    machine = off(instancetype={"name": "large", **({"kind": kind} if kind else {})})
    objects = [machine, made(CLUSTER, "large", LARGE)]
    assert "1 of 2 nodes takes it, the scheduler would choose n1" in told(objects, "explain", "erp")
    said = told(objects, "simulate", "grow", "vm/erp", "--by", "3")
    assert "1 start, 2 without a place" in said


@pytest.mark.parametrize("known", [True, False])
def test_a_vm_is_expanded_once(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[KubernetesObject] = []

    def counted(vm: KubernetesObject, types: TypeCatalog) -> Mapping[str, Any]:
        calls.append(vm)
        return expanded(vm, types)

    monkeypatch.setattr(instances, "expanded", counted)
    objects = [off(instancetype={"name": "large"}), *[made(CLUSTER, "large", LARGE)] * known]
    assert ("fit unknown" in told(objects, "explain", "erp")) is not known
    assert len(calls) == 1


def test_the_stored_revision_wins_over_the_type() -> None:
    small = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    ref = {"name": "large", "controllerRevisionRef": {"name": "r1"}}
    machine = off(status={"instancetypeRef": ref}, instancetype={"name": "large"})
    objects = [machine, made(CLUSTER, "large", LARGE), revision("r1", CLUSTER, "large", small)]
    assert "2 of 2 nodes take it" in told(objects, "explain", "erp")
    named = off(instancetype={"name": "large", "revisionName": "r1"})
    assert "2 of 2 nodes take it" in told([named, *objects[1:]], "explain", "erp")
    other = revision("r1", CLUSTER, "another", small)  # left by a type that the VM had before
    assert "1 of 2 nodes takes it" in told([*objects[:2], other], "explain", "erp")


def test_a_revision_is_known_by_its_data_not_by_its_labels() -> None:
    stored = revision("r1", CLUSTER, "large", {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}})
    bare = {**stored, "metadata": {"name": "r1", "namespace": "default"}}  # of KubeVirt 1.0
    foreign = {**bare, "metadata": {"name": "web-5c", "namespace": "default"}}
    others = [{**foreign, "data": data} for data in ([1], "x", {"spec": "x"}, {"spec": [1]}, None)]
    named = off(instancetype={"name": "large", "revisionName": "r1"})
    for other in others:
        objects = [named, made(CLUSTER, "large", LARGE), bare, other]
        assert "2 of 2 nodes take it" in told(objects, "explain", "erp")
    # KubeVirt trusts its own note of a revision only if the label names the type
    ref = {"name": "large", "controllerRevisionRef": {"name": "r1"}}
    noted = off(status={"instancetypeRef": ref}, instancetype={"name": "large"})
    objects = [noted, made(CLUSTER, "large", LARGE), bare]
    assert "1 of 2 nodes takes it" in told(objects, "explain", "erp")


@pytest.mark.parametrize("labels", [{}, {"instancetype.kubevirt.io/object-kind": CLUSTER}])
def test_an_encoded_revision_of_old_stops_no_read(labels: Mapping[str, str]) -> None:
    metadata = {"name": "r1", "namespace": "default", "labels": dict(labels)}
    data = {"apiVersion": "instancetype.kubevirt.io/v1alpha1", "spec": "eyJjcHUiOiB7fX0="}
    old = {**revision("r1", CLUSTER, "large", {}), "metadata": metadata, "data": data}
    named = off(instancetype={"name": "large", "revisionName": "r1"})
    said = told([named, old], "explain", "erp")
    assert "instancetype large: its revision r1 is in a form that gitbot does not read" in said


@pytest.mark.parametrize(
    ("machine", "adds"),
    [
        (off(instancetype={"name": "large"}), "virtualmachineclusterinstancetypes"),
        (
            off(instancetype={"name": "large", "kind": "VirtualMachineInstancetype"}),
            "virtualmachineinstancetypes",
        ),
        (off(instancetype={"name": "l", "revisionName": "r1"}), "controllerrevisions"),
        (off(preference={"name": "fedora"}), "virtualmachineclusterpreferences"),
    ],
)
def test_a_type_that_the_snapshot_lacks_leaves_the_fit_unknown(
    machine: KubernetesObject, adds: str
) -> None:
    said = told([machine], "explain", "erp")
    assert "fit unknown" in said
    assert f"`kubectl get {adds} -A -o yaml` adds it" in said
    assert "0 starts, 1 without a place" in told([machine], "simulate", "grow", "vm/erp")


def test_a_size_in_the_template_conflicts_with_the_type() -> None:
    machine = off({"memory": {"guest": "1Gi"}}, instancetype={"name": "large"})
    said = told([machine, made(CLUSTER, "large", LARGE)], "explain", "erp")
    assert "conflicts with spec.template.spec.domain.memory.guest" in said


def test_selector_and_devices_of_the_type_decide() -> None:
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}, "nodeSelector": {"tier": "gold"}}
    objects = [off(instancetype={"name": "t"}), made(CLUSTER, "t", spec)]
    assert "1 of 2 nodes takes it" in told(objects, "explain", "erp")
    gpu = {**spec, "gpus": [{"name": "g", "deviceName": "nvidia.com/A10"}]}
    said = told([objects[0], made(CLUSTER, "t", gpu)], "explain", "erp")
    assert "nvidia.com/A10: asks 1, 0 of 0 free" in said


PREFERENCE = "VirtualMachineClusterPreference"


@pytest.mark.parametrize(
    ("count", "cpu", "topology"),
    [
        (8, {}, (8, 1, 1)),
        (1, {"preferredCPUTopology": "cores"}, (1, 1, 1)),
        (8, {"preferredCPUTopology": "preferCores"}, (1, 8, 1)),
        (8, {"preferredCPUTopology": "threads"}, (1, 1, 8)),
        (8, {"preferredCPUTopology": "any"}, (8, 1, 1)),
        (8, {"preferredCPUTopology": "spread"}, (4, 2, 1)),
        (9, {"preferredCPUTopology": "spread", "spreadOptions": {"ratio": 4}}, (2, 4, 1)),
        (
            8,
            {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads"}},
            (1, 4, 2),
        ),
        (
            8,
            {"preferredCPUTopology": "spread", "spreadOptions": {"across": "SocketsCoresThreads"}},
            (2, 2, 2),
        ),
    ],
)
def test_the_preference_decides_the_topology(
    count: int, cpu: Mapping[str, Any], topology: tuple[int, int, int]
) -> None:
    machine = off(instancetype={"name": "t"}, preference={"name": "p"})
    kind = made(CLUSTER, "t", {"cpu": {"guest": count}, "memory": {"guest": "1Gi"}})
    found = expanded(machine, catalog(kind, made(PREFERENCE, "p", {"cpu": cpu})))["domain"]["cpu"]
    assert (found["sockets"], found["cores"], found["threads"]) == topology


def test_the_template_wins_over_preferences() -> None:
    wishes = {
        "devices": {
            "preferredTPM": {"persistent": True},
            "preferredAutoattachPodInterface": False,
            "preferredInterfaceModel": "e1000",
        },
        "features": {"preferredHyperv": {"vpindex": {}}, "preferredSmm": {"enabled": True}},
        "firmware": {"preferredEfi": {"persistent": True}},
        "cpu": {"preferredCPUFeatures": [{"name": "vmx", "policy": "require"}]},
        "preferredArchitecture": "arm64",
    }
    plain = expanded(off(preference={"name": "p"}), catalog(made(PREFERENCE, "p", wishes)))
    domain = plain["domain"]
    assert domain["devices"] == {"tpm": {"persistent": True}, "autoattachPodInterface": False}
    assert domain["features"] == {"hyperv": {"vpindex": {}}, "smm": {"enabled": True}}
    assert domain["firmware"] == {"bootloader": {"efi": {"persistent": True}}}
    assert (domain["cpu"]["features"][0]["name"], plain["architecture"]) == ("vmx", "arm64")
    own = {
        "devices": {"tpm": {}, "interfaces": [{"name": "a", "model": "virtio"}]},
        "firmware": {"bootloader": {"bios": {}}},
    }
    kept = expanded(off(own, preference={"name": "p"}), catalog(made(PREFERENCE, "p", wishes)))
    assert kept["domain"]["devices"]["tpm"] == {}
    assert kept["domain"]["devices"]["interfaces"] == own["devices"]["interfaces"]  # type: ignore[index]
    assert kept["domain"]["firmware"] == own["firmware"]


def test_overcommit_lowers_the_request_in_gos_float32() -> None:
    memory = {"guest": "4Gi", "overcommitPercent": 15}
    found = expanded(
        off(instancetype={"name": "t"}),
        catalog(made(CLUSTER, "t", {"cpu": {"guest": 1}, "memory": memory})),
    )
    assert found["domain"]["resources"]["requests"] == {"memory": "3650722304"}


def test_an_old_form_of_a_revision_is_not_guessed_at() -> None:
    stored = {**revision("r1", CLUSTER, "t", {}), "data": {"spec": "eyJjcHUiOiB7fX0="}}
    with pytest.raises(UnreadableType, match="in a form that gitbot does not read"):
        expanded(off(instancetype={"name": "t", "revisionName": "r1"}), catalog(stored))
