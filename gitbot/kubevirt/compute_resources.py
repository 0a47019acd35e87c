"""Requests and limits of the compute container.

Source: KubeVirt, pkg/virt-controller/services/renderresources.go. Amounts are integers in the
scheduler's units (milli for cpu, whole units for the rest) until they are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of
from gitbot.kubernetes.quantities import milli, units_of, whole
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import (
    DEFAULT_CPU_ALLOCATION_RATIO,
    DEFAULT_MEMORY_OVERCOMMIT,
    emulation,
    gate,
    setting,
)
from gitbot.kubevirt.memory_overhead import dedicated, vcpus_of

EPHEMERAL_STORAGE = 50_000_000
_DEVICE = "devices.kubevirt.io/"
_DEFAULT_LIMIT_RATIO = 2.0
Amounts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The namespace and its quotas: they decide a pod's resources besides VMI and KubeVirt.

    An absent namespace object counts as one without labels.
    """

    namespace: KubernetesObject = field(default_factory=dict)
    quotas: Sequence[KubernetesObject] = ()

    def limits(self, resource: str) -> bool:
        """Whether a quota has `limits.<resource>`, so that every pod must have limits."""
        return any(
            f"limits.{resource}" in at(quota, "spec", "hard", default={}) for quota in self.quotas
        )


def compute_resources(
    vmi: KubernetesObject, kubevirt: KubernetesObject, overhead: int, around: Surroundings
) -> tuple[Amounts, Amounts]:
    """Requests and limits of the compute container; `overhead` in bytes."""
    domain: Json = at(vmi, "spec", "domain", default={})
    given = at(domain, "resources", default={})
    requests = {key: units_of(key, value) for key, value in (given.get("requests") or {}).items()}
    limits = {key: units_of(key, value) for key, value in (given.get("limits") or {}).items()}
    for side in (requests, limits):
        if side is requests or "ephemeral-storage" in side:
            side["ephemeral-storage"] = side.get("ephemeral-storage", 0) + EPHEMERAL_STORAGE
    limits |= _virtual_devices(domain, emulation(kubevirt))
    _base_memory(domain, kubevirt, requests, limits)
    counted_requests, counted_limits = _cpu(vmi, kubevirt, requests, limits, around)
    _memory(domain, overhead, (requests, limits), (counted_requests, counted_limits))
    if around.limits("memory") and "memory" not in (given.get("limits") or {}):
        ratio = _memory_limit_ratio(around.namespace)
        counted_limits["memory"] = int(float(requests.get("memory", 0)) * ratio)
    for device in _plugin_devices(vmi, kubevirt):
        for counted, own in ((counted_requests, requests), (counted_limits, limits)):
            counted[device] = counted.get(device, own.get(device, 0)) + 1
    return {**counted_requests, **requests}, {**counted_limits, **limits}


def _virtual_devices(domain: Json, emulated: bool) -> Amounts:
    devices: Json = at(domain, "devices", default={})
    interfaces = devices.get("interfaces") or ()
    found: Amounts = {}
    if interfaces or devices.get("autoattachPodInterface") is not False:
        found[f"{_DEVICE}tun"] = 1
    virtio = any((i.get("model") or "virtio") == "virtio" for i in interfaces)
    if virtio and not emulated:
        found[f"{_DEVICE}vhost-net"] = 1
    if not emulated:
        found[f"{_DEVICE}kvm"] = 1
    if devices.get("autoattachVSOCK"):
        found[f"{_DEVICE}vhost-vsock"] = 1
    return found


def _base_memory(
    domain: Json, kubevirt: KubernetesObject, requests: Amounts, limits: Amounts
) -> None:
    """Memory without its own request: the limit, else the guest's memory over the overcommit."""
    if requests.get("memory"):
        return
    if limits.get("memory"):
        requests["memory"] = limits["memory"]
    if "memory" in requests:
        return
    size = at(domain, "memory", "guest") or at(domain, "memory", "hugepages", "pageSize")
    overcommit = setting(
        kubevirt, "developerConfiguration", "memoryOvercommit", default=DEFAULT_MEMORY_OVERCOMMIT
    )
    if size is not None and whole(size) > 0:
        requests["memory"] = whole(size) * 100 // int(overcommit)


def _cpu(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    requests: Amounts,
    limits: Amounts,
    around: Surroundings,
) -> tuple[Amounts, Amounts]:
    domain: Json = at(vmi, "spec", "domain", default={})
    extra = int(at(domain, "ioThreads", "supplementalPoolThreadCount", default=0))
    if dedicated(vmi):
        _pin(vmi, extra, requests, limits)
        return {}, {}
    cpu = at(domain, "cpu")
    total = (1 if cpu is None else vcpus_of(cpu)) + extra
    ratio = setting(kubevirt, "developerConfiguration", "cpuAllocationRatio")
    ratio = int(ratio or DEFAULT_CPU_ALLOCATION_RATIO)
    if not total:
        return {}, {}
    limited = {"cpu": total * 1000} if _wants_cpu_limit(kubevirt, limits, around) else {}
    return {"cpu": _shared(total, ratio)}, limited


def _shared(cpus: int, ratio: int) -> int:
    """Milli CPUs of `cpus` overcommitted by `ratio`. Upstream divides and prints binary floats."""
    share = cpus / ratio
    return milli(f"{share * 1000!r}m" if share < 1 else repr(share))


def _wants_cpu_limit(kubevirt: KubernetesObject, limits: Amounts, around: Surroundings) -> bool:
    if "cpu" in limits:
        return False
    if around.limits("cpu"):
        return True
    selector = setting(kubevirt, "autoCPULimitNamespaceLabelSelector")
    return LabelMatcher.of(selector).matches(labels_of(around.namespace))


def _pin(vmi: KubernetesObject, extra: int, requests: Amounts, limits: Amounts) -> None:
    cpu: Json = at(vmi, "spec", "domain", "cpu", default={})
    count = vcpus_of(cpu)
    for side in (requests, limits):
        if count:
            side["cpu"] = (count + extra) * 1000
        elif "cpu" in side:
            side["cpu"] += extra * 1000
    if cpu.get("isolateEmulatorThread"):
        pool = at(vmi, "spec", "domain", "ioThreadsPolicy") == "supplementalPool"
        whole_cpus = -(-limits.get("cpu", 0) // 1000) + (extra if pool else 0)
        even = names.EVEN_PARITY in annotations_of(vmi) and whole_cpus % 2 == 0
        limits["cpu"] = limits.get("cpu", 0) + (2000 if even else 1000)
        if "cpu" in requests:
            requests["cpu"] += 2000 if even else 1000
    if "memory" in requests:
        limits["memory"] = requests["memory"]


def _memory(
    domain: Json,
    overhead: int,
    own: tuple[Amounts, Amounts],
    counted: tuple[Amounts, Amounts],
) -> None:
    requests, limits = own
    page = at(domain, "memory", "hugepages", "pageSize")
    if page is None:
        if not at(domain, "resources", "overcommitGuestOverhead", default=False):
            requests["memory"] = requests.get("memory", 0) + overhead
        if "memory" in limits:
            limits["memory"] += overhead
        return
    guest = at(domain, "memory", "guest")
    size = whole(guest) if guest is not None else None
    request = requests.get("memory", 0)
    pages = request if size is None else min(request, size)
    for side in counted:
        side[f"hugepages-{page}"] = pages
    requests["memory"] = overhead + _above(request, size)
    if "memory" in limits:
        limits["memory"] = overhead + _above(limits["memory"], size)


def _above(amount: int, size: int | None) -> int:
    return 0 if size is None else max(0, amount - size)


def _memory_limit_ratio(namespace: KubernetesObject) -> float:
    try:
        ratio = float(labels_of(namespace)[names.MEMORY_LIMIT_RATIO])
    except (KeyError, ValueError):
        return _DEFAULT_LIMIT_RATIO
    return ratio if ratio >= 1.0 else _DEFAULT_LIMIT_RATIO


def resource_claims(vmi: KubernetesObject, kubevirt: KubernetesObject) -> list[dict[str, Any]]:
    """The compute container's part of the pod's resource claims: devices managed by DRA."""
    devices: Json = at(vmi, "spec", "domain", "devices", default={})
    kinds = (("gpus", "GPUsWithDRA"), ("hostDevices", "HostDevicesWithDRA"))
    asked = [
        device
        for kind, needed in kinds
        if gate(kubevirt, needed)
        for device in devices.get(kind) or ()
        if not device.get("deviceName")
    ]
    if gate(kubevirt, "NetworkDevicesWithDRA"):
        networks = at(vmi, "spec", "networks", default=[])
        asked.extend(network.get("resourceClaim") or {} for network in networks)
    named = {"name": "claimName", "request": "requestName"}
    return [
        {ours: claim[theirs] for ours, theirs in named.items() if claim.get(theirs)}
        for claim in asked
        if claim.get("claimName")
    ]


def _plugin_devices(vmi: KubernetesObject, kubevirt: KubernetesObject) -> Iterator[str]:
    """Extended resources, one name for each unit. Other components add SR-IOV networks later."""
    domain: Json = at(vmi, "spec", "domain", default={})
    devices: Json = domain.get("devices") or {}
    for kind in ("gpus", "hostDevices"):
        for device in devices.get(kind) or ():
            if device.get("deviceName") and device.get("claimName") is None:
                yield device["deviceName"]
    security: Json = domain.get("launchSecurity") or {}
    if security.get("sev") is not None or security.get("snp") is not None:
        yield f"{_DEVICE}sev"
    if security.get("tdx") is not None:
        yield f"{_DEVICE}tdx"
    if any(at(disk, "lun", "reservation") for disk in devices.get("disks") or ()):
        yield f"{_DEVICE}pr-helper"
    if gate(kubevirt, "IOMMUFD"):
        yield f"{_DEVICE}iommufd"
