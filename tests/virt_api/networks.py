"""What virt-api fills into networks and disks before its rules look at them.

Source: KubeVirt 1.9.0, pkg/defaults/defaults.go.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import Json, KubernetesObject, at, with_value
from gitbot.kubevirt.kubevirt_object import setting


def with_device_defaults(spec: Json, kubevirt: KubernetesObject) -> Json:
    """The spec as its rules see it: a network where none is named, a disk for every volume.

    For the rules alone. What starts without a network keeps having none here, so that a guest
    which nobody described further stays one that can be moved.
    """
    devices: Json = at(spec, "domain", "devices", default={})
    kept = [*(devices.get("disks") or ()), *(devices.get("filesystems") or ())]
    known = {item.get("name") for item in kept}
    added = [
        {"name": volume.get("name")}
        for volume in spec.get("volumes") or ()
        if volume.get("name") not in known
    ]
    if added:
        disks = [*(devices.get("disks") or ()), *added]
        spec = with_value(spec, disks, "domain", "devices", "disks")
    named = spec.get("networks") or devices.get("interfaces")
    if named or devices.get("autoattachPodInterface") is False:
        return spec
    binding = setting(kubevirt, "network", "defaultNetworkInterface", default="bridge")
    interfaces = [{"name": "default", binding: {}}]
    changed = with_value(spec, interfaces, "domain", "devices", "interfaces")
    return {**changed, "networks": [{"name": "default", "pod": {}}]}


def network_problem(spec: Json, kubevirt: KubernetesObject) -> str:
    """Why a guest that names no network cannot be given one, "" where it can."""
    if "networks" not in with_device_defaults({**spec, "volumes": []}, kubevirt):
        return ""
    if spec.get("networks") or at(spec, "domain", "devices", "interfaces"):
        return ""
    binding = setting(kubevirt, "network", "defaultNetworkInterface", default="bridge")
    permitted = setting(kubevirt, "network", "permitBridgeInterfaceOnPodNetwork", default=True)
    if binding == "bridge" and not permitted:
        return "bridge interface is not enabled in kubevirt-config"
    return "slirp interface is deprecated as of v1.3" if binding == "slirp" else ""
