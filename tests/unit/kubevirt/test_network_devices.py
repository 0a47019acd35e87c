"""Devices that networks need: one for each network with a resource name."""

from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.network_devices import network_devices, networks_of, with_network_devices


def definition(resource: str) -> dict[str, Any]:
    annotations = {"k8s.v1.cni.cncf.io/resourceName": resource} if resource else {}
    return {"metadata": {"annotations": annotations}}


KNOWN = {
    NamespacedName(namespace="shop", name="fast"): definition("x/vf"),
    NamespacedName(namespace="far", name="fast"): definition("y/vf"),
    NamespacedName(namespace="shop", name="plain"): definition(""),
}


def spec(*networks: str) -> dict[str, Any]:
    named = [
        {"name": f"n{number}", "multus": {"networkName": n}} for number, n in enumerate(networks)
    ]
    return {"networks": [{"name": "default", "pod": {}}, *named]}


@pytest.mark.parametrize(
    ("networks", "devices"),
    [
        ((), {}),
        (("fast",), {"x/vf": 1}),
        (("fast", "fast"), {"x/vf": 2}),
        (("far/fast", "shop/fast"), {"x/vf": 1, "y/vf": 1}),
        (("plain", "absent"), {}),
    ],
)
def test_each_network_with_a_resource_name_needs_one(
    networks: tuple[str, ...], devices: dict[str, int]
) -> None:
    assert network_devices(spec(*networks), "shop", KNOWN) == devices
    assert len(list(networks_of(spec(*networks), "shop"))) == len(networks)


@pytest.mark.parametrize(("held", "count"), [(True, "2"), (False, "3")])
def test_a_running_pod_may_have_asked_already(held: bool, count: str) -> None:
    compute = {"name": "compute", "resources": {"requests": {"x/vf": "1", "cpu": "1"}}}
    found = with_network_devices([compute, {"name": "log"}], {"x/vf": 2}, held=held)
    assert found == [
        {
            "name": "compute",
            "resources": {"requests": {"x/vf": count, "cpu": "1"}, "limits": {"x/vf": "2"}},
        },
        {"name": "log"},
    ]
