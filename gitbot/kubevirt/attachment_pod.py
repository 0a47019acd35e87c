"""The pod that attaches hotplugged volumes to the node of a launcher pod.

Source: KubeVirt, pkg/virt-controller/services/template.go (RenderHotplugAttachmentPodTemplate). Its
affinity requires the label kubernetes.io/hostname to equal the name of the launcher's node.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, name_of
from gitbot.kubevirt.containers import container
from gitbot.kubevirt.kubevirt_object import support_resource
from gitbot.kubevirt.launcher_pod import claim_of

_TYPE = "hotplug-disk"
_TOLERATED = ("unschedulable", "network-unavailable", "disk-pressure", "memory-pressure")


def attachment_pod(
    vmi: KubernetesObject, launcher: KubernetesObject, kubevirt: KubernetesObject
) -> dict[str, Any] | None:
    """The attachment pod of a launcher pod, without a node; None if nothing is hotplugged."""
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in _hotplugged(vmi, launcher)
    ]
    if not volumes:
        return None
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoSchedule"}
        for key in (*_TOLERATED, "pid-pressure")
    ]
    spec: Json = launcher["spec"]
    name = name_of(launcher)
    return {
        "metadata": {"namespace": name.namespace, "name": f"hp-volume-{name.name}"},
        "spec": {
            "containers": [container(_TYPE, _side(kubevirt, "requests"), {})],
            "tolerations": [*tolerations, *(spec.get("tolerations") or ())],
            "volumes": volumes,
        },
    }


def _side(kubevirt: KubernetesObject, side: str) -> dict[str, str]:
    defaults = {"cpu": "10m", "memory": "2M"}
    return {
        name: support_resource(kubevirt, "hotplug-disk", side, name, amount)
        for name, amount in defaults.items()
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
