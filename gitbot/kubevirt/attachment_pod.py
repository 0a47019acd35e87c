"""The pod that attaches hotplugged volumes to the node of a launcher pod.

Source: KubeVirt, pkg/virt-controller/services/{template,renderresources}.go. Its affinity requires
the label kubernetes.io/hostname to equal the name of the launcher's node.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, name_of
from gitbot.kubevirt.containers import container, support_side
from gitbot.kubevirt.launcher_pod import claim_of

TYPE = "hotplug-disk"  # its container's name, and the value of its label kubevirt.io
_PRESSED = ("disk-pressure", "memory-pressure", "pid-pressure")
_TOLERATED = ("unschedulable", "network-unavailable", *_PRESSED)


def attachment_pod(
    vmi: KubernetesObject, launcher: KubernetesObject, kubevirt: KubernetesObject
) -> dict[str, Any] | None:
    """The attachment pod of a launcher pod, without a node; None if nothing is hotplugged."""
    spec = attachment_spec(vmi, launcher, kubevirt)
    name = name_of(launcher)
    metadata = {"namespace": name.namespace, "name": f"hp-volume-{name.name}"}
    return {"metadata": metadata, "spec": spec} if spec["volumes"] else None


def attachment_spec(
    vmi: KubernetesObject, launcher: KubernetesObject, kubevirt: KubernetesObject
) -> dict[str, Any]:
    """Its spec without the affinity to the launcher's node."""
    requests = support_side(kubevirt, TYPE, "requests", "10m", "2M")
    limits = support_side(kubevirt, TYPE, "limits", "100m", "80M")
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoSchedule"}
        for key in _TOLERATED
    ]
    return {
        "containers": [container(TYPE, requests, limits)],
        "tolerations": [*tolerations, *at(launcher, "spec", "tolerations", default=[])],
        "volumes": [
            {"name": name, "persistentVolumeClaim": {"claimName": claim}}
            for name, claim in _hotplugged(vmi, launcher)
        ],
    }


def _hotplugged(vmi: KubernetesObject, launcher: KubernetesObject) -> list[tuple[str, str]]:
    """Volume and claim (GetHotplugVolumes): those of the VMI that its launcher does not mount."""
    mounted = {volume.get("name") for volume in at(launcher, "spec", "volumes", default=[])}
    spec: Json = vmi.get("spec") or {}
    found = [
        *((str(item.get("name")), _claim(item)) for item in spec.get("volumes") or ()),
        *(
            (str(item.get("name")), str(item.get("claimName") or ""))
            for item in spec.get("utilityVolumes") or ()
        ),
    ]
    return [(name, claim) for name, claim in found if claim and name not in mounted]


def _claim(volume: Json) -> str:
    return claim_of(volume) or str(at(volume, "memoryDump", "claimName", default=""))
