"""A CPU or memory hotplug that waits for its migration: what the target pod asks for."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, vm
from tests.unit.cli.desk import typed

BRIDGE, VF = "bridge.network.kubevirt.io/br1", "intel.com/sriov"
GPU, PAGES = "nvidia.com/A10", "hugepages-2Mi"


def equipped(name: str, **amounts: str) -> KubernetesObject:
    found = copy.deepcopy(dict(node(name)))
    for side in ("allocatable", "capacity"):
        found["status"][side] = {**found["status"][side], **amounts}
    return found


def waiting(condition: str, own: Mapping[str, str], **domain: Any) -> list[KubernetesObject]:
    """A VM whose new size waits for a migration, with the running pod's other resources."""
    vmi, launcher = (copy.deepcopy(dict(obj)) for obj in vm("web", on="n1"))
    vmi["spec"]["domain"] = {"devices": {}, **domain}
    vmi["status"]["conditions"].append({"type": condition, "status": "True"})
    compute = launcher["spec"]["containers"][0]
    compute["resources"] = {
        "requests": {**compute["resources"]["requests"], **own},
        "limits": dict(own),
    }
    launcher["spec"]["containers"].append(
        {"name": "injected", "resources": {"requests": {"cpu": "3"}}}
    )
    return [vmi, launcher]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def explained(*objects: KubernetesObject) -> Mapping[str, Any]:
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    Path("cluster.json").write_text(json.dumps(items))
    said = typed("explain", "web", "--snapshot", "cluster.json", "-o", "json")
    found: Mapping[str, Any] = json.loads(said.out)["subjects"][0]
    return found


SIZES: Mapping[str, Mapping[str, Any]] = {
    "HotMemoryChange": {"memory": {"guest": "8Gi"}},
    "HotVCPUChange": {"cpu": {"sockets": 40}},
}


@pytest.mark.parametrize("condition", SIZES)
@pytest.mark.parametrize("resource", [BRIDGE, VF])
def test_the_target_keeps_the_resources_of_the_running_pod(condition: str, resource: str) -> None:
    found = explained(
        equipped("n1", **{resource: "1"}),
        equipped("n2", **{resource: "1"}),
        equipped("n3"),
        *waiting(condition, {resource: "1"}, **SIZES[condition]),
    )
    assert found["feasible"] == ["n2"]
    compute, injected = found["targetPod"]["spec"]["containers"]
    assert compute["resources"]["requests"][resource] == "1"
    assert compute["resources"]["limits"][resource] == "1"
    assert injected["name"] == "injected"


def test_the_new_size_comes_from_the_vm() -> None:
    found = explained(
        equipped("n1"),
        equipped("n2", memory="4Gi"),
        equipped("n3"),
        *waiting("HotMemoryChange", {}, memory={"guest": "8Gi"}),
    )
    assert found["feasible"] == ["n3"]


def test_devices_and_pages_of_the_vm_count_once() -> None:
    own = {GPU: "1", PAGES: "1Gi"}
    size = {"memory": {"guest": "2Gi", "hugepages": {"pageSize": "2Mi"}}}
    devices = {"devices": {"gpus": [{"name": "g", "deviceName": GPU}]}}
    found = explained(equipped("n1"), *waiting("HotMemoryChange", own, **{**devices, **size}))
    asked = found["targetPod"]["spec"]["containers"][0]["resources"]["requests"]
    assert (asked[GPU], asked[PAGES]) == ("1", "2048Mi")
