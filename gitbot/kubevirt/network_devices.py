"""Devices of networks: what NetworkAttachmentDefinitions make a launcher pod ask for.

Source: pkg/network/multus/nad.go, NetworkToResource. With gate ExternalNetResourceInjection (on
since 1.9) a webhook adds the same requests to the pod, by the same annotation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at

RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
Definitions = Mapping[NamespacedName, KubernetesObject]


def networks_of(spec: Json, namespace: str) -> Iterator[NamespacedName]:
    """The NetworkAttachmentDefinitions that a VMI's spec names, once for each network."""
    for network in spec.get("networks") or ():
        first, slash, rest = str(at(network, "multus", "networkName", default="")).partition("/")
        if first:
            space, name = (first, rest) if slash else (namespace, first)
            yield NamespacedName(namespace=space, name=name)


def network_devices(spec: Json, namespace: str, definitions: Definitions) -> Counter[str]:
    """How many of each device plugin's resource the networks of a VMI's spec need."""
    known = (definitions.get(name) for name in networks_of(spec, namespace))
    asked = (annotations_of(item).get(RESOURCE_NAME, "") for item in known if item is not None)
    return Counter(name for name in asked if name)


def with_network_devices(
    containers: list[Json], devices: Mapping[str, int], *, held: bool
) -> list[Json]:
    """The containers of a launcher pod, of which compute asks for the devices.

    `held`: the containers are those of a running pod, which asked for most of them already.
    """
    if not devices:
        return containers
    return [
        _asking(item, devices, held) if item.get("name") == "compute" else item
        for item in containers
    ]


def _asking(container: Json, devices: Mapping[str, int], held: bool) -> dict[str, Any]:
    resources = dict(container.get("resources") or {})
    for side in ("requests", "limits"):
        amounts = dict(resources.get(side) or {})
        for name, count in devices.items():
            before = int(amounts.get(name, 0))
            amounts[name] = str(max(before, count) if held else before + count)
        resources[side] = amounts
    return {**container, "resources": resources}
