"""Volumes outside the launcher pod's fixed claims: TPM and EFI state, and hotplugged volumes."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import ZONE, node, vm
from tests.unit.cli.desk import typed

KUBEVIRT: KubernetesObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
    "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"},
}
NODES = (
    node("n1", zone="a", memory="16Gi"),
    node("n2", zone="a", memory="4Gi"),
    node("n3", zone="b", memory="64Gi"),
)


def claim(name: str, modes: Sequence[str], **labels: str) -> list[KubernetesObject]:
    """A bound claim, and its volume in zone a."""
    spec = {"accessModes": modes, "storageClassName": "local"}
    place = {"key": ZONE, "operator": "In", "values": ["a"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"pvc-{name}",
                "labels": labels,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {**spec, "volumeName": f"pv-{name}"},
            "status": {"phase": "Bound", "accessModes": modes},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}"},
            "spec": {**spec, "nodeAffinity": affinity},
        },
    ]


def storage_class(name: str, mode: str, *zones: str, default: bool = True) -> KubernetesObject:
    term = {"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": "csi.example",
        "volumeBindingMode": mode,
        "allowedTopologies": [term] if zones else [],
    }


def with_tpm(modes: Sequence[str]) -> list[KubernetesObject]:
    """A VM on n1 whose TPM state is in a claim in zone a."""
    vmi, launcher = (copy.deepcopy(dict(obj)) for obj in vm("win", on="n1"))
    vmi["spec"]["domain"]["devices"]["tpm"] = {"persistent": True}
    volume = {"name": "vm-state", "persistentVolumeClaim": {"claimName": "state-1"}}
    launcher["spec"]["volumes"] = [volume]
    return [vmi, launcher, *claim("state-1", modes, **{"persistent-state-for": "win"})]


def with_hotplug(**more: Any) -> list[KubernetesObject]:
    """A VM on n1 with a hotplugged volume that zone a reaches."""
    vmi, launcher = (copy.deepcopy(dict(obj)) for obj in vm("db", on="n1"))
    source = {"claimName": "data", "hotpluggable": True}
    vmi["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": source}]
    attached = {"name": "data", "hotplugVolume": {"attachPodName": "hp", "attachPodUID": "hp"}}
    vmi["status"]["volumeStatus"] = [attached]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": launcher["metadata"]["name"]}
    attaching: KubernetesObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "hp",
            "namespace": "default",
            "labels": {"kubevirt.io": "hotplug-disk"},
            "ownerReferences": [{**owner, "uid": launcher["metadata"]["uid"], "controller": True}],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "hotplug-disk"}]},
        "status": {"phase": "Running"},
    }
    machine: KubernetesObject = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"runStrategy": "Always", "template": {"spec": vmi["spec"]}},
    }
    return [vmi, launcher, attaching, machine, *claim("data", ["ReadWriteMany"])]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(objects: Sequence[KubernetesObject], *words: str) -> str:
    items = {"apiVersion": "v1", "kind": "List", "items": [KUBEVIRT, *NODES, *objects]}
    Path("cluster.json").write_text(json.dumps(items))
    return typed(*words, "--snapshot", "cluster.json").out


def verdicts(objects: Sequence[KubernetesObject], name: str) -> Mapping[str, str]:
    found = json.loads(told(objects, "explain", name, "-o", "json"))["subjects"][0]
    return {item["name"]: item["verdict"] for item in found["nodes"]}


WAITS = storage_class("local", "WaitForFirstConsumer")


@pytest.mark.parametrize(
    ("modes", "classes", "takes"),
    [
        (["ReadWriteOnce"], [WAITS], {"n2", "n3"}),
        (["ReadWriteOnce", "ReadWriteMany"], [WAITS], {"n2", "n3"}),  # the first one decides
        (["ReadWriteMany"], [WAITS], {"n2"}),  # both pods use the claim in zone a
        (
            ["ReadWriteOnce"],
            [storage_class("zonal", "WaitForFirstConsumer", "b")],
            {"n3"},
        ),
        (["ReadWriteOnce"], [storage_class("local", "Immediate", default=False)], set()),
    ],
)
def test_a_migration_gets_a_new_claim_for_tpm_state_unless_it_is_shared(
    modes: Sequence[str], classes: Sequence[KubernetesObject], takes: set[str]
) -> None:
    found = verdicts([*with_tpm(modes), *classes], "win")
    assert {name for name, word in found.items() if word == "ok"} == takes


def test_kubevirts_own_default_class_wins() -> None:
    own = storage_class("virt", "WaitForFirstConsumer", "b", default=False)
    own = {**own, "metadata": {"name": "virt", "annotations": {VIRT: "true"}}}
    found = verdicts([*with_tpm(["ReadWriteOnce"]), own, WAITS], "win")
    assert found["n3"] == "ok"
    assert found["n2"] != "ok"


VIRT = "storageclass.kubevirt.io/is-default-virt-class"


def test_a_class_that_binds_at_once_is_named() -> None:
    objects = [*with_tpm(["ReadWriteOnce"]), storage_class("now", "Immediate")]
    said = told(objects, "explain", "win")
    assert "2 of 3 nodes take it" in said
    assert "class now binds at once" in said


def test_a_drain_moves_a_vm_with_tpm_state_on_local_storage() -> None:
    said = told([*with_tpm(["ReadWriteOnce"]), WAITS], "simulate", "drain", "n1")
    assert "1 move" in said


def test_a_vm_moves_only_where_its_hotplugged_volumes_can_be_attached() -> None:
    found = verdicts([*with_hotplug(), WAITS], "db")
    assert (found["n2"], found["n3"]) == ("ok", "unresolvable")
    said = told([*with_hotplug(), WAITS], "simulate", "drain", "n1")
    assert "n1     n2" in said
    said = told([*with_hotplug(), WAITS], "explain", "db")
    assert "HotplugVolumes: the attachment pod of the hotplugged volumes would stay Pending" in said
    assert "without a pin to a node it may choose n3" in said


def test_a_start_where_hotplugged_volumes_cannot_be_attached_is_no_start() -> None:
    said = told([*with_hotplug(), WAITS], "simulate", "lose", "n1")
    assert "0 starts, 1 without a place, 0 broken" in said
    assert "kube-scheduler chooses n3, where it waits: HotplugVolumes" in said


def test_an_attachment_pod_looks_for_the_name_of_the_node_in_its_hostname_label() -> None:
    other = node("n4", zone="a", hostname="n4.example")
    assert verdicts([*with_hotplug(), WAITS, other], "db")["n4"] == "unresolvable"


@pytest.mark.parametrize(("pods", "takes"), [("1", False), ("2", True)])
def test_a_launcher_and_its_attachment_pod_take_two_of_the_pods_of_a_node(
    pods: str, takes: bool
) -> None:
    objects = [*with_hotplug(), WAITS, node("n4", zone="a", pods=pods)]
    assert (verdicts(objects, "db")["n4"] == "ok") is takes
    said = told(objects, "explain", "db")
    assert ("Pending: NodeResourcesFit: the node holds 1 pods and allows 1" in said) is not takes


@pytest.mark.parametrize(
    ("name", "hard", "used", "refused"),
    [
        ("pods", "3", "2", "pods: 2 used, 2 more, 3 allowed"),
        ("pods", "4", "2", ""),
        ("limits.cpu", "1050m", "1", "limits.cpu: 1 used, 100m more, 1050m allowed"),
        ("limits.cpu", "1100m", "1", ""),
    ],
)
def test_a_quota_counts_the_attachment_pod(name: str, hard: str, used: str, refused: str) -> None:
    quota: KubernetesObject = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {name: hard}},
        "status": {"used": {name: used}},
    }
    said = told([*with_hotplug(), WAITS, quota], "explain", "db")
    assert ("ResourceQuota" in said) is bool(refused)
    assert refused in said
    moved = "1 move" in told([*with_hotplug(), WAITS, quota], "simulate", "drain", "n1")
    assert moved is not bool(refused)


def off(name: str, **spec: Any) -> KubernetesObject:
    """A VM that is off, with a disk from a DataVolume template."""
    template = {
        "domain": {"devices": {}, "memory": {"guest": "1Gi"}},
        "volumes": [{"name": "root", "dataVolume": {"name": f"{name}-disk"}}],
    }
    disk = {"metadata": {"name": f"{name}-disk"}, "spec": spec}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "runStrategy": "Halted",
            "template": {"spec": template},
            "dataVolumeTemplates": [disk],
        },
    }


@pytest.mark.parametrize(
    ("spec", "takes"),
    [
        ({"pvc": {"storageClassName": "zonal"}}, {"n3"}),
        ({"storage": {}}, {"n1", "n2", "n3"}),  # KubeVirt's default class
        ({"pvc": {}}, {"n3"}),  # that of Kubernetes
        ({"pvc": {"storageClassName": "other"}}, set()),
    ],
)
def test_a_vm_that_is_off_brings_the_claims_of_its_templates(
    spec: Mapping[str, Any], takes: set[str]
) -> None:
    virt = storage_class("virt", "WaitForFirstConsumer", default=False)
    virt = {**virt, "metadata": {"name": "virt", "annotations": {VIRT: "true"}}}
    zonal = storage_class("zonal", "WaitForFirstConsumer", "b")
    found = verdicts([off("new", **spec), virt, zonal], "new")
    assert {name for name, word in found.items() if word == "ok"} == takes


def test_a_claim_that_exists_decides_where_its_vm_starts_and_a_copy_has_its_own() -> None:
    objects = [off("one", storage={}), *claim("one-disk", ["ReadWriteOnce"]), WAITS]
    assert verdicts(objects, "one")["n3"] == "unresolvable"
    said = told(objects, "simulate", "grow", "vm/one", "--by", "60")
    assert "60 starts, 0 without" in said
    assert "-      n3" in said


def test_a_dump_without_claims_leaves_the_fit_unknown_and_names_the_command() -> None:
    vmi, launcher = (copy.deepcopy(dict(obj)) for obj in vm("db", on="n1"))
    source = {"persistentVolumeClaim": {"claimName": "data"}}
    vmi["spec"]["volumes"] = [{"name": "data", **source}]
    launcher["spec"]["volumes"] = [{"name": "data", **source}]
    for objects in ([vmi, launcher], [vmi, launcher, WAITS]):
        assert set(verdicts(objects, "db").values()) == {"unknown"}
        said = told(objects, "explain", "db")
        assert "fit unknown" in said
        assert "not found" not in said
        assert "kubectl get persistentvolumeclaims,persistentvolumes,storageclasses -A" in said
        assert "1 VM cannot leave" in told(objects, "simulate", "drain", "n1")
    assert set(verdicts([off("new", storage={})], "new").values()) == {"unknown"}
    bound = claim("data", ["ReadWriteMany"])
    assert set(verdicts([vmi, launcher, bound[0]], "db").values()) == {"unknown"}
    assert verdicts([vmi, launcher, *bound], "db")["n2"] == "ok"


def test_a_dump_of_all_kinds_still_says_not_found() -> None:
    other = claim("other", ["ReadWriteMany"])
    vmi, launcher = (copy.deepcopy(dict(obj)) for obj in vm("db", on="n1"))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    vmi["spec"]["volumes"] = [volume]
    assert 'persistentvolumeclaim "data" not found' in told(
        [vmi, launcher, *other], "explain", "db"
    )
