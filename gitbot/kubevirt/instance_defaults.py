"""What virt-api fills into a VMI when it is created, as far as placement and size depend on it.

Source: KubeVirt 1.9.0, pkg/defaults/defaults.go.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.configuration import setting
from gitbot.kubevirt.edits import with_value
from gitbot.model.objects import Json, KubernetesObject, annotations_of, at
from gitbot.model.quantities import milli, whole

_MACHINES = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}
_CPU_REQUEST = "100m"  # counts as "not set"


def with_spec_defaults(spec: Json, kubevirt: KubernetesObject) -> dict[str, Any]:
    """The spec of a VMI or of a template with what both get."""
    architecture = str(spec.get("architecture") or "amd64")
    machine = setting(kubevirt, "architectureConfiguration", architecture, "machineType")
    machine = machine or setting(kubevirt, "machineType") if architecture == "amd64" else machine
    defaults: dict[tuple[str, ...], Any] = {
        ("architecture",): architecture,
        ("domain", "machine", "type"): machine or _MACHINES.get(architecture, "q35"),
        ("evictionStrategy",): setting(kubevirt, "evictionStrategy", default="None"),
    }
    changed = dict(spec)
    for path, value in defaults.items():
        if not at(changed, *path):
            changed = with_value(changed, value, *path)
    changed = _with_requests(changed, kubevirt)
    return _with_topology(_with_guest_memory(changed))


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


def _with_requests(spec: dict[str, Any], kubevirt: KubernetesObject) -> dict[str, Any]:
    resources: Json = at(spec, "domain", "resources", default={})
    limit, request = at(resources, "limits", "cpu"), at(resources, "requests", "cpu")
    path = ("domain", "resources", "requests", "cpu")
    if limit is not None and milli(limit) and not milli(request or 0):
        spec, request = with_value(spec, limit, *path), limit
    wanted = setting(kubevirt, "cpuRequest")
    dedicated = at(spec, "domain", "cpu", "dedicatedCpuPlacement", default=False)
    if wanted and milli(wanted) != milli(_CPU_REQUEST) and request is None and not dedicated:
        spec = with_value(spec, wanted, *path)
    return spec


def _with_guest_memory(spec: dict[str, Any]) -> dict[str, Any]:
    if at(spec, "domain", "memory", "guest") is not None:
        return spec
    for side in ("requests", "limits"):
        amount = at(spec, "domain", "resources", side, "memory")
        if amount is not None and whole(amount):
            return with_value(spec, amount, "domain", "memory", "guest")
    page = at(spec, "domain", "memory", "hugepages", "pageSize")
    return with_value(spec, page, "domain", "memory", "guest") if page else spec


def _with_topology(spec: dict[str, Any]) -> dict[str, Any]:
    """One socket for each CPU that the resources name, where no topology is given."""
    cpu: Json = at(spec, "domain", "cpu", default={})
    if any(cpu.get(part) for part in ("cores", "sockets", "threads")):
        return spec
    resources: Json = at(spec, "domain", "resources", default={})
    amount = at(resources, "limits", "cpu") or at(resources, "requests", "cpu")
    counts = {"cores": 1, "sockets": 1 if amount is None else whole(amount), "threads": 1}
    return with_value(spec, {**cpu, **counts}, "domain", "cpu")


def with_instance_defaults(vmi: KubernetesObject, kubevirt: KubernetesObject) -> dict[str, Any]:
    """A VMI with its defaults: those of the spec, CPU model, finalizer, first phase."""
    spec = with_spec_defaults(vmi.get("spec") or {}, kubevirt)
    if not at(spec, "domain", "cpu", "model"):
        usual = setting(kubevirt, "cpuModel", default="host-model")
        model = "host-passthrough" if spec["architecture"] == "arm64" else usual
        spec = with_value(spec, model, "domain", "cpu", "model")
    changed: dict[str, Any] = {**vmi, "spec": spec}
    finalizers = at(vmi, "metadata", "finalizers", default=[])
    if names.VMI_FINALIZER not in finalizers:
        kept = [*finalizers, names.VMI_FINALIZER]
        changed = with_value(changed, kept, "metadata", "finalizers")
    annotations = {**annotations_of(vmi), names.PCI_TOPOLOGY: "v3"}
    if names.EVEN_PARITY in annotations_of(kubevirt):
        annotations[names.EVEN_PARITY] = ""
    changed = with_value(changed, annotations, "metadata", "annotations")
    return {**changed, "status": {"phase": "Pending", **(vmi.get("status") or {})}}
