"""Questions about launcher pods, and about volumes that block a migration."""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of
from gitbot.kubernetes.phases import phase_of
from gitbot.kubevirt import names


def is_deleting(obj: KubernetesObject) -> bool:
    return at(obj, "metadata", "deletionTimestamp") is not None


def is_ready(pod: KubernetesObject) -> bool:
    """Whether a launcher pod runs: compute started, the other containers ready."""
    if phase_of(pod) != "Running" or is_deleting(pod):
        return False
    for status in at(pod, "status", "containerStatuses", default=[]):
        if status.get("name") in ("compute", "istio-proxy"):
            if at(status, "state", "running") is None:
                return False
        elif not status.get("ready"):
            return False
    return True


def is_launcher(pod: KubernetesObject) -> bool:
    """Whether a pod is a launcher and not the holder of a hotplugged volume."""
    return labels_of(pod).get(names.APP) == "virt-launcher"


def is_hotplugged(volume: Any) -> bool:
    kinds = ("dataVolume", "persistentVolumeClaim")
    return any(bool(at(volume, kind, "hotpluggable")) for kind in kinds)


def hotplugged_volumes(vmi: KubernetesObject) -> frozenset[str]:
    """Names of volumes that were hotplugged. Another pod attaches them."""
    statuses = at(vmi, "status", "volumeStatus", default=[])
    named = {item["name"] for item in statuses if item.get("hotplugVolume") is not None}
    volumes = at(vmi, "spec", "volumes", default=[])
    return frozenset(named | {volume["name"] for volume in volumes if is_hotplugged(volume)})


def backup_in_progress(vmi: KubernetesObject) -> str:
    """The name of the running backup; "" if there is none."""
    backup: Json = at(vmi, "status", "changedBlockTracking", "backupStatus", default={})
    return "" if backup.get("completed") else str(backup.get("backupName") or "")
