"""A target pod asks for the same, read from the running pod or from the pod that is made."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.target_pod import target_of, target_requests
from gitbot.kubernetes.objects import with_value
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.snapshot import from_objects
from tests.doubles.problems import NOW, node, vm
from tests.laws.tiny import problem_of, tiny

MORE = [{"name": "compute", "resources": {"requests": {"cpu": "2", "memory": "7Gi"}}}]
RUNTIME = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "heavy"},
    "overhead": {"podFixed": {"cpu": "1", "memory": "1Gi"}},
}
KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
    "spec": {"configuration": {"defaultRuntimeClass": "heavy"}},
}
RESIZED = {"type": "HotMemoryChange", "status": "True"}


def assert_equal_requests(snapshot: ClusterSnapshot) -> None:
    made = Instances(snapshot)
    for name in made:
        assert target_requests(Instances(snapshot), name) == target_of(made, name).requests


@given(seed=st.integers(min_value=0, max_value=2**32))
@settings(max_examples=40)
def test_on_tiny_clusters(seed: int) -> None:
    assert_equal_requests(problem_of(tiny(seed)).snapshot)


@pytest.mark.parametrize(
    ("of_pod", "of_vmi", "others"),
    [
        ({}, {}, ()),
        ({"containers": MORE}, {}, ()),
        ({"containers": []}, {}, ()),
        (
            {"initContainers": [{**MORE[0], "name": "volumedisk", "restartPolicy": "Always"}]},
            {},
            (),
        ),
        ({"initContainers": [{**MORE[0], "name": "first"}]}, {}, ()),
        ({"overhead": {"memory": "3Gi"}}, {}, ()),
        ({"resources": {"requests": {"memory": "9Gi"}}}, {}, ()),
        ({"containers": MORE}, {"conditions": [RESIZED]}, ()),
        ({}, {}, (KUBEVIRT, RUNTIME)),
        ({"overhead": {"memory": "3Gi"}}, {}, (KUBEVIRT, RUNTIME)),
    ],
)
def test_what_the_running_pod_says(
    of_pod: dict[str, Any], of_vmi: dict[str, Any], others: tuple[dict[str, Any], ...]
) -> None:
    vmi, pod = vm("db", on="n1")
    vmi = with_value(vmi, {**vmi["status"], **of_vmi}, "status")
    pod = with_value(pod, {**pod["spec"], **of_pod}, "spec")
    for objects in ((vmi, pod), (vmi,)):
        snapshot = from_objects("test", [node("n1"), *objects, *others], NOW)
        assert_equal_requests(snapshot)
