"""How much memory a launcher pod needs besides its guest.

Source: KubeVirt, pkg/hypervisor/kvm/hypervisorbackend.go and pkg/network/resources; bytes.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import milli, whole
from gitbot.kubevirt.kubevirt_object import setting, version_of
from gitbot.kubevirt.versions import fixed_overhead

MI = 1024 * 1024
_PER_VCPU = 8 * MI
_IO_THREAD = 8 * MI
_VIDEO = 32 * MI
_ARM_FIRMWARE = 128 * MI
_VFIO = 1024 * MI
_DOWNWARD_METRICS = MI
_PROBE = 10 * MI
_PROBES = 100 * MI
_SEV = 256 * MI
_TPM = 53 * MI
_GUARANTEED = 100 * MI
_PASST = 250 * MI


def vcpus_of(cpu: Json) -> int:
    """The product of cores, sockets and threads, skipping zeros; 0 if none is given."""
    count = 0
    for part in ("cores", "sockets", "threads"):
        value = int(cpu.get(part) or 0)
        count = count * value if count and value else count or value
    return count


def dedicated(vmi: KubernetesObject) -> bool:
    return bool(at(vmi, "spec", "domain", "cpu", "dedicatedCpuPlacement", default=False))


def guaranteed(vmi: KubernetesObject) -> bool:
    """Whether requests equal limits, or memory has only a limit and cpu both, equal."""
    requests: Json = at(vmi, "spec", "domain", "resources", "requests", default={})
    limits: Json = at(vmi, "spec", "domain", "resources", "limits", default={})
    memory, memory_limit = whole(requests.get("memory", 0)), whole(limits.get("memory", 0))
    cpu, cpu_limit = milli(requests.get("cpu", 0)), milli(limits.get("cpu", 0))
    memory_wants = memory == memory_limit if memory else bool(memory_limit)
    return memory_wants and bool(cpu) and cpu == cpu_limit


def memory_overhead(vmi: KubernetesObject, kubevirt: KubernetesObject) -> int:
    """Bytes that KubeVirt adds to the guest's memory in the compute container."""
    domain: Json = at(vmi, "spec", "domain", default={})
    total = _page_tables(domain) + fixed_overhead(version_of(kubevirt)) * MI
    total += _PER_VCPU * _vcpus(domain) + _IO_THREAD
    total += _devices(vmi, domain) + _probes(at(vmi, "spec", default={}))
    if at(vmi, "spec", "architecture") == "arm64":
        total += _ARM_FIRMWARE
    security: Json = at(domain, "launchSecurity", default={})
    if security.get("sev") is not None or security.get("snp") is not None:
        total += _SEV
    if dedicated(vmi) or guaranteed(vmi):
        total += _GUARANTEED
    total += whole(at(domain, "memory", "reservedOverhead", "addedOverhead", default=0))
    return _multiplied(total, kubevirt) + _network(domain, kubevirt)


def _multiplied(total: int, kubevirt: KubernetesObject) -> int:
    """Scaled by the cluster's ratio; a ratio that is not a number counts as absent."""
    try:
        ratio = float(setting(kubevirt, "additionalGuestMemoryOverheadRatio", default="") or 1)
    except ValueError:
        return total
    # KubeVirt multiplies kilobytes as binary floats and truncates: same steps, same bytes.
    return total + int(float(-(-total // 1000)) * (ratio - 1.0)) * 1000


def _page_tables(domain: Json) -> int:
    request = whole(at(domain, "resources", "requests", "memory", default=0))
    return -(-request // 1000) * 1000 // 512


def _vcpus(domain: Json) -> int:
    cpu = at(domain, "cpu")
    if cpu is not None:
        return max(1, vcpus_of(cpu))
    limit = at(domain, "resources", "limits", "cpu")
    request = at(domain, "resources", "requests", "cpu")
    return max(1, whole(limit if limit is not None else request or 0))


def _devices(vmi: KubernetesObject, domain: Json) -> int:
    devices: Json = at(domain, "devices", default={})
    total = 0 if devices.get("autoattachGraphicsDevice") is False else _VIDEO
    sriov = any(i.get("sriov") is not None for i in devices.get("interfaces") or ())
    if devices.get("hostDevices") or devices.get("gpus") or sriov:
        total += _VFIO
    volumes = at(vmi, "spec", "volumes", default=[])
    if any(volume.get("downwardMetrics") is not None for volume in volumes):
        total += _DOWNWARD_METRICS
    tpm = devices.get("tpm")
    if tpm is not None and tpm.get("enabled") is not False:
        total += _TPM
    return total


def _probes(spec: Json) -> int:
    kinds = ("livenessProbe", "readinessProbe")
    count = sum(at(spec, kind, "exec") is not None for kind in kinds)
    return count * _PROBE + (_PROBES if count else 0)


def _network(domain: Json, kubevirt: KubernetesObject) -> int:
    interfaces = at(domain, "devices", "interfaces", default=[])
    total = _PASST if any(i.get("passtBinding") is not None for i in interfaces) else 0
    plugins: Json = setting(kubevirt, "network", "binding", default={})
    used = {at(interface, "binding", "name") for interface in interfaces}
    for name in sorted(used & set(plugins), key=str):
        path = ("computeResourceOverhead", "requests", "memory")
        total += whole(at(plugins[name], *path, default=0))
    return total
