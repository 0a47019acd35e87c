"""The verdict on a VM is the verdict on the `targetPod` that `gitbot explain` shows for it."""

import json
from typing import Any

import pytest

from gitbot.constraints.explanation import Explainer
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.snapshot import read_snapshot
from tests.unit.constraints.builders import ZONE, machine, node, zones

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": ZONE,
                "labelSelector": {"matchLabels": {"kubevirt.io/domain": "db"}},
                "mismatchLabelKeys": ["kubevirt.io/created-by"],
            }
        ]
    }
}
EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"kubevirt.io/domain": "db"}},
    }
]
TAINT = {"key": "db", "effect": "NoSchedule"}
NAME = NamespacedName(namespace="customapp", name="db-1")


def explainer(*objects: KubernetesObject) -> Explainer:
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return Explainer(read_snapshot([("objects.json", json.dumps(items).encode())], 0))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"affinity": APART},
        {"topologySpreadConstraints": EVEN},
        {"nodeSelector": {ZONE: "b"}, "tolerations": [{"key": "db", "operator": "Exists"}]},
        {"schedulerName": "other"},
    ],
)
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("added", [{}, {ZONE: "a"}, {ZONE: "c"}])
def test_a_vm_is_judged_as_its_target_pod(
    spec: dict[str, Any], running: bool, added: dict[str, str]
) -> None:
    vmi, launcher = machine("db-1", "a-1", spec=spec)
    objects = [
        *zones("a", "b"),
        node("c-1", "c", taints=[TAINT], memory="1Gi"),
        vmi,
        *([launcher] if running else []),
        *machine("db-2", "b-1", spec=spec),
        *machine("web-1", "a-2"),
    ]
    vm = explainer(*objects).vm(NAME, added)
    target = vm.target
    assert (target["apiVersion"], target["kind"]) == ("v1", "Pod")
    stored = {**target, "metadata": {**target["metadata"], "uid": "uid-target"}}
    name = NamespacedName(namespace="customapp", name=target["metadata"]["name"])
    pod = explainer(*objects, stored).pod(name)
    assert pod.judgement.nodes == vm.judgement.nodes
    assert pod.scores == vm.scores
    assert pod.winners == vm.winners
