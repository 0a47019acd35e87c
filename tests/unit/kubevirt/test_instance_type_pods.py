"""VMs with instance types and preferences: gitbot's pods are those that KubeVirt made of them."""

from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.target_pod import start_object
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.instance_types import UnreadableType, expanded
from gitbot.snapshot import from_objects
from tests.recordings.instance_types import COUNT, essence, recorded

CASES = {scenario["name"]: (scenario, made) for scenario, made in recorded()}
GROUP = "instancetype.kubevirt.io/v1beta1"
VM = NamespacedName(namespace="default", name="erp")


def instances_of(scenario: dict[str, Any]) -> Instances:
    machine: dict[str, Any] = {**scenario["vm"], "spec": {**scenario["vm"]["spec"]}}
    objects: list[KubernetesObject] = [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
            "spec": {"configuration": scenario["settings"]},
            "status": {"observedKubeVirtVersion": "v1.9.0"},
        },
        machine,
    ]
    for key, kind in (
        ("instancetype", "VirtualMachineClusterInstancetype"),
        ("preference", "VirtualMachineClusterPreference"),
    ):
        if scenario[key] is not None:
            machine["spec"][key] = {"name": "own"}
            made = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "own"}}
            objects.append({**made, "spec": scenario[key]})
    return Instances.of(from_objects("prod", objects, 0))


def test_the_record_has_many_combinations() -> None:
    assert len(CASES) == COUNT >= 300
    assert sum("pod" in made for _, made in CASES.values()) >= 300


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_pod_is_as_kubevirt_makes_it(name: str) -> None:
    scenario, made = CASES[name]
    instances = instances_of(scenario)
    if made.get("conflicts"):
        with pytest.raises(UnreadableType) as refused:
            expanded(instances[VM].vm or {}, instances.types)
        assert all(path in str(refused.value) for path in made["conflicts"])
        return
    assert essence(start_object(instances, instances[VM])) == made["pod"]
