"""Defaults that virt-api sets in a new VMI, as far as placement and size depend on them."""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, with_value
from gitbot.kubernetes.quantities import milli, whole
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import gate, setting

_MACHINES = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}
_VMX = {"name": "vmx", "policy": "require"}
_QGS_SOCKET = "/var/run/tdx-qgs/qgs.socket"
_UINT32 = 2**32  # KubeVirt keeps sockets in unsigned 32 bits: -1 is a very large number
_CPU_REQUEST = "100m"  # counts as "not set"
_ENLIGHTENED = (
    ("evmcs", "vapic"),
    ("ipi", "vpindex"),
    ("tlbflush", "vpindex"),
    ("synictimer", "synic"),
    ("synic", "vpindex"),
)
"""Features of Hyper-V, each with the one that it needs."""


def with_spec_defaults(spec: Json, kubevirt: KubernetesObject) -> dict[str, Any]:
    """The spec of a VMI or of a template with the defaults of both."""
    usual = at(kubevirt, "status", "defaultArchitecture") or "amd64"
    architecture = str(spec.get("architecture") or usual)
    known = architecture if architecture in _MACHINES else "amd64"
    machine = (
        setting(kubevirt, "machineType")
        or setting(kubevirt, "architectureConfiguration", known, "machineType")
        or _MACHINES[known]
    )
    changed = {**spec, "architecture": architecture}
    if not at(spec, "domain", "machine", "type"):
        changed = with_value(changed, machine, "domain", "machine", "type")
    if spec.get("evictionStrategy") is None:
        strategy = setting(kubevirt, "evictionStrategy", default="None")
        changed = with_value(changed, strategy, "evictionStrategy")
    changed = _with_requests(changed, kubevirt)
    return _with_topology(_with_guest_memory(changed))


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
    return with_value(spec, page, "domain", "memory", "guest") if _is_amount(page) else spec


def _is_amount(text: str | None) -> bool:
    try:
        return text is not None and whole(text) >= 0
    except ValueError:
        return False  # the rules refuse it


def _with_topology(spec: dict[str, Any]) -> dict[str, Any]:
    """One socket for each CPU of the resources, if no topology is given."""
    cpu: Json = at(spec, "domain", "cpu", default={})
    if any(cpu.get(part) for part in ("cores", "sockets", "threads")):
        return spec
    resources: Json = at(spec, "domain", "resources", default={})
    amount = at(resources, "limits", "cpu") or at(resources, "requests", "cpu")
    counts = {"cores": 1, "sockets": 1 if amount is None else whole(amount) % _UINT32, "threads": 1}
    return with_value(spec, {**cpu, **counts}, "domain", "cpu")


def with_instance_defaults(vmi: KubernetesObject, kubevirt: KubernetesObject) -> dict[str, Any]:
    """A VMI with its defaults: those of the spec, CPU model, finalizer, first phase."""
    spec = with_spec_defaults(vmi.get("spec") or {}, kubevirt)
    if not at(spec, "domain", "cpu", "model"):
        usual = setting(kubevirt, "cpuModel", default="host-model")
        model = "host-passthrough" if spec["architecture"] == "arm64" else usual
        spec = with_value(spec, model, "domain", "cpu", "model")
    changed: dict[str, Any] = {**vmi, "spec": _with_enlightenments(spec)}
    finalizers = at(vmi, "metadata", "finalizers", default=[])
    if names.VMI_FINALIZER not in finalizers:
        kept = [*finalizers, names.VMI_FINALIZER]
        changed = with_value(changed, kept, "metadata", "finalizers")
    annotations = _annotations(vmi, spec, kubevirt)
    changed = with_value(changed, annotations, "metadata", "annotations")
    return {**changed, "status": {"phase": "Pending", **(vmi.get("status") or {})}}


def _with_enlightenments(spec: dict[str, Any]) -> dict[str, Any]:
    """Every Hyper-V feature that is named is on, unless it says otherwise (pkg/defaults/hyperv.go).

    So is what it needs. The nodes that a VMI can run on follow from them.
    """
    path = ("domain", "features", "hyperv")
    found = {
        name: {"enabled": True, **(state or {})}
        for name, state in at(spec, *path, default={}).items()
    }
    for name, needed in _ENLIGHTENED:
        if at(found, name, "enabled"):
            found[needed] = {"enabled": True, **found.get(needed, {})}
    if at(found, "evmcs", "enabled"):
        features = at(spec, "domain", "cpu", "features", default=[])
        kept = [item for item in features if item.get("name") != _VMX["name"]]
        spec = with_value(spec, [*kept, _VMX], "domain", "cpu", "features")
    return with_value(spec, found, *path) if found else spec


def _annotations(vmi: KubernetesObject, spec: Json, kubevirt: KubernetesObject) -> dict[str, str]:
    found = dict(annotations_of(vmi))
    machine = str(at(spec, "domain", "machine", "type", default=""))
    if spec["architecture"] in ("amd64", "arm64") and (
        "q35" in machine or machine.startswith("virt")
    ):
        found.setdefault(names.PCI_TOPOLOGY, "v3")
    even = names.EVEN_PARITY in annotations_of(kubevirt) and gate(kubevirt, "AlignCPUs")
    if even and at(spec, "domain", "cpu", "isolateEmulatorThread"):
        found[names.EVEN_PARITY] = ""
    path = ("confidentialCompute", "tdx", "attestation", "qgsSocketPath")
    socket = setting(kubevirt, *path, default=_QGS_SOCKET)
    if socket and at(spec, "domain", "launchSecurity", "tdx") is not None:
        found[names.QGS_SOCKET] = str(socket)
    return found
