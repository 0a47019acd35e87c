"""Why virt-controller cannot create a target pod.

Source: KubeVirt, migration.go, createTargetPod, and services/template.go.
"""

from __future__ import annotations

import re

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, name_of
from gitbot.kubevirt import names
from gitbot.kubevirt.containers import container_disks
from gitbot.kubevirt.kubevirt_object import gate, setting


def why_no_target(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None = None,
) -> str:
    """Why virt-controller cannot create a target pod; "" if it can.

    KubeVirt reports this only in virt-controller's log; the migration stays Pending.
    """
    unfit = _cannot_render(vmi, kubevirt, source_pod)
    if unfit:
        return f"failed to render launch manifest: {unfit}"
    if source_node is None:
        node, name = at(vmi, "status", "nodeName", default=""), name_of(vmi).name
        return f'node "{node}" associated with vmi "{name}" does not exist'
    matches = setting(kubevirt, "migrations", "matchSELinuxLevelOnMigration")
    if matches is not False and not at(vmi, "status", "selinuxContext"):
        return "SELinux context not set on VMI status"
    return ""


def _cannot_render(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    unknown = _without_digest(vmi, kubevirt, source_pod)
    if unknown:
        return (
            "can not proceed with the migration when no reproducible image digest can be "
            f"detected: {unknown}"
        )
    refused = _not_permitted(vmi, kubevirt)
    if refused:
        return refused
    known: Json = setting(kubevirt, "network", "binding", default={})
    for interface in at(vmi, "spec", "domain", "devices", "interfaces", default=[]):
        binding = at(interface, "binding", "name")
        if binding is not None and binding not in known:
            return f"couldn't find configuration for network binding: {binding}"
    return _verbosity(vmi)


def _verbosity(vmi: KubernetesObject) -> str:
    """The label for the launcher's log verbosity must be a number."""
    text = labels_of(vmi).get(names.LOG_VERBOSITY)
    if text is None or re.fullmatch(r"[+-]?[0-9]+", text):
        return ""
    return f'verbosity {text} cannot cast to int: strconv.Atoi: parsing "{text}": invalid syntax'


def _not_permitted(vmi: KubernetesObject, kubevirt: KubernetesObject) -> str:
    permitted: Json | None = setting(kubevirt, "permittedHostDevices")
    if permitted is None:
        return ""
    listed = {
        device.get("resourceName")
        for kind in ("pciHostDevices", "mediatedDevices", "usb")
        for device in permitted.get(kind) or ()
    }
    devices: Json = at(vmi, "spec", "domain", "devices", default={})
    kinds = (("gpus", "GPU", "GPUsWithDRA"), ("hostDevices", "HostDevice", "HostDevicesWithDRA"))
    return " ".join(
        f"{word} {device.get('deviceName', '')} is not permitted in permittedHostDevices "
        "configuration"
        for kind, word, by_claim in kinds
        for device in devices.get(kind) or ()
        if device.get("deviceName") not in listed
        and not (gate(kubevirt, by_claim) and device.get("claimName"))
    )


def _without_digest(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    """A container disk without an image digest in the source pod, in KubeVirt's words."""
    statuses = list(at(source_pod, "status", "containerStatuses", default=[]))
    if gate(kubevirt, "ImageVolume"):
        statuses += at(source_pod, "status", "initContainerStatuses", default=[])
    images = {
        str(status.get("name")): str(status["imageID"])
        for status in statuses
        if "imageID" in status
    }  # Snapshots do not keep it, so it cannot be judged.
    for disk, image in container_disks(vmi).items():
        told = images.get(f"volume{disk}")
        if told is not None and "@sha256:" not in told:
            return f'failed to identify image digest for container "{image}" with id "{told}"'
    return ""
