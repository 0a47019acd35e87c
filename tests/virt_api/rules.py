"""What virt-api refuses in the spec of a VMI, or of a VirtualMachine's template.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks (vmi-create-admitter.go, arm64.go, amd64.go), in its
order, which is the order of the causes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import gate, setting
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.access import access_credentials
from tests.virt_api.acpi import acpi
from tests.virt_api.architecture import machine
from tests.virt_api.boot import STORAGE_VOLUMES, boot_orders
from tests.virt_api.claims import claims
from tests.virt_api.cpu import (
    cpu_amounts,
    cpu_features,
    cpu_hotplug,
    cpu_pinning,
    isolated_thread,
    numa,
    realtime,
)
from tests.virt_api.disks import disks
from tests.virt_api.guest import (
    dns,
    firmware,
    inputs,
    names,
    panic_devices,
    probes,
    service_account,
    sound,
)
from tests.virt_api.memory import (
    amount,
    guest_memory,
    hugepages,
    memory_amounts,
)
from tests.virt_api.network import discontinued, discontinued_gates, networks
from tests.virt_api.paths import container_disks, container_paths
from tests.virt_api.placement import affinity, spread
from tests.virt_api.rule import Rule
from tests.virt_api.security import launch_security, secure_boot
from tests.virt_api.volumes import volumes

STRATEGIES = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")


def spec_causes(spec: Json, path: str, kubevirt: KubernetesObject) -> tuple[Cause, ...]:
    """Why this spec is refused; `path` is where it stands (`spec`, `spec.template.spec`)."""
    return tuple(cause for rule in _RULES for cause in rule(spec, path, kubevirt))


def first_causes(spec: Json, path: str, kubevirt: KubernetesObject) -> tuple[Cause, ...]:
    """What is asked of a VMI before all else; of its networks then once more with the rest."""
    rules = (discontinued_gates, discontinued, networks)
    return tuple(cause for rule in rules for cause in rule(spec, path, kubevirt))


def instance_only_causes(spec: Json, path: str) -> tuple[Cause, ...]:
    """What is demanded of a VMI and not of a template: file systems for paths, and memory."""
    return (
        *container_paths(spec, path),
        *_memory_given(spec, path),
    )


def _start_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    strategy, field = spec.get("startStrategy"), f"{path}.startStrategy"
    if strategy is None:
        return
    if strategy != "Paused":
        yield invalid_value(field, f"{field} is set with an unrecognized option: {strategy}")
    elif spec.get("livenessProbe") is not None:
        text = "should be provided.Pausing VMI with LivenessProbe is not supported"
        yield invalid_value(field, f"either {field} or {path}.livenessProbe {text}")


def _io_threads(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    policy = at(spec, "domain", "ioThreadsPolicy")
    if policy is not None and policy not in ("shared", "auto", "supplementalPool"):
        yield invalid_value(f"{path}.domain.ioThreadsPolicy", f"Invalid IOThreadsPolicy ({policy})")
    count = at(spec, "domain", "ioThreads", "supplementalPoolThreadCount", default=0)
    if policy == "supplementalPool" and count < 1:
        text = "the number of iothreads needs to be set and positive for the dedicated policy"
        yield invalid_value(f"{path}.domain.ioThreads.count", text)


def _eviction_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    strategy, field = spec.get("evictionStrategy"), f"{path}.evictionStrategy"
    if strategy is not None and strategy not in STRATEGIES:
        yield invalid_value(field, f"{field} is set with an unrecognized option: {strategy}")


def _displays(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    shown = 0
    for device in at(spec, "domain", "devices", "gpus", default=[]):
        display = at(device, "virtualGPUOptions", "display")
        if display is None or display.get("enabled") is False:
            continue
        shown += display.get("ramFB") is None or at(display, "ramFB", "enabled") is True
    if shown > 1:
        text = "configuring multiple displays with ramfb is not valid "
        yield invalid_value(f"{path}.GPUs", text)


def _utility_volumes(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if spec.get("utilityVolumes"):
        text = "cannot create VMI with utility volumes in spec, utility volumes can only be added "
        yield invalid_value(f"{path}.utilityVolumes", f"{text}via hotplug")


def _host_devices(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    devices = at(spec, "domain", "devices", "hostDevices")
    if devices and not gate(kubevirt, "HostDevices"):
        text = "Host Devices feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.HostDevices", text)


def _switches(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Devices behind feature gates or settings, in upstream's order."""
    devices: Json = at(spec, "domain", "devices", default={})
    if devices.get("autoattachVSOCK") and not gate(kubevirt, "VSOCK"):
        text = "VSOCK feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.domain.devices.autoattachVSOCK", text)
    reserved = any(at(disk, "lun", "reservation") for disk in devices.get("disks") or ())
    allowed = setting(kubevirt, "persistentReservationConfiguration", "enabled")
    if allowed is None:  # a gate of older releases still counts
        allowed = gate(kubevirt, "PersistentReservation")
    if reserved and not allowed:
        text = "persistent reservation is not enabled in kubevirt config"
        yield invalid_value(f"{path}.domain.devices.disks.luns.reservation", text)
    if devices.get("downwardMetrics") is not None and not gate(kubevirt, "DownwardMetrics"):
        text = "downwardMetrics virtio serial is not allowed: DownwardMetrics feature gate is not"
        yield invalid_value(f"{path}.domain.devices.downwardMetrics", f"{text} enabled")


def _filesystems(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    volumes = {item.get("name"): item for item in spec.get("volumes") or ()}
    for item in at(spec, "domain", "devices", "filesystems", default=[]):
        volume = volumes.get(item.get("name"), {})
        stored = any(volume.get(kind) is not None for kind in STORAGE_VOLUMES)
        if stored and not gate(kubevirt, "EnableVirtioFsStorageVolumes"):
            text = "virtiofs is not allowed: virtiofs feature gate is not enabled for PVC"
            yield invalid_value(f"{path}.domain.devices.filesystems", text)


def _video(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    devices: Json = at(spec, "domain", "devices", default={})
    if devices.get("video") is not None and devices.get("autoattachGraphicsDevice") is False:
        text = "Video configuration is not allowed when autoattachGraphicsDevice is set to false"
        yield invalid_value(f"{path}.video", text)


def _reboot_policy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if at(spec, "domain", "rebootPolicy") is not None and not gate(kubevirt, "RebootPolicy"):
        text = "RebootPolicy is specified but the RebootPolicy feature gate is not enabled"
        yield invalid_value(f"{path}.domain.rebootPolicy", text)


def _reserved_overhead(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    asked = at(spec, "domain", "memory", "reservedOverhead")
    if asked is not None and not gate(kubevirt, "ReservedOverheadMemlock"):
        text = "Reserved overhead memlock feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.domain.memory.reservedOverhead", text)


_RULES: tuple[Rule, ...] = (
    names,
    memory_amounts,
    hugepages,
    guest_memory,
    machine,
    acpi,
    cpu_amounts,
    cpu_pinning,
    numa,
    isolated_thread,
    cpu_features,
    cpu_hotplug,
    _start_strategy,
    realtime,
    affinity,
    spread,
    networks,
    claims,
    boot_orders,
    inputs,
    _io_threads,
    probes,
    disks,
    firmware,
    secure_boot,
    volumes,
    container_disks,
    _utility_volumes,
    access_credentials,
    dns,
    _eviction_strategy,
    _displays,
    _host_devices,
    sound,
    launch_security,
    _switches,
    _filesystems,
    _video,
    panic_devices,
    _reboot_policy,
    _reserved_overhead,
    service_account,
)


def _memory_given(spec: Json, path: str) -> Iterator[Cause]:
    memory: Json = at(spec, "domain", "memory", default={})
    if (
        not amount(spec, "requests")
        and memory.get("guest") is None
        and memory.get("hugepages") is None
    ):
        text = (
            f"no memory requested, at least one of '{path}.domain.memory.guest', "
            f"'{path}.domain.memory.hugepages.pageSize' or "
            f"'{path}.domain.resources.requests.memory' must be set"
        )
        yield Cause(reason="FieldValueRequired", message=text)
