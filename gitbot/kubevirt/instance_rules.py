"""What virt-api refuses in the spec of a VMI, or of a VirtualMachine's template.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks (vmi-create-admitter.go, arm64.go, amd64.go), in its
order, which is the order of the causes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubevirt.configuration import gate, setting
from gitbot.kubevirt.instance_rules_claims import claims
from gitbot.kubevirt.instance_rules_cpu import (
    cpu_amounts,
    cpu_features,
    cpu_hotplug,
    cpu_pinning,
    isolated_thread,
    numa,
    realtime,
)
from gitbot.kubevirt.instance_rules_disks import disks
from gitbot.kubevirt.instance_rules_guest import (
    boot_orders,
    dns,
    firmware,
    inputs,
    names,
    panic_devices,
    probes,
    service_account,
    sound,
)
from gitbot.kubevirt.instance_rules_memory import guest_memory, hugepages, memory_amounts
from gitbot.kubevirt.instance_rules_network import discontinued, networks
from gitbot.kubevirt.instance_rules_placement import affinity, spread
from gitbot.kubevirt.instance_rules_volumes import volumes
from gitbot.kubevirt.rule import Rule, invalid_value
from gitbot.kubevirt.verdicts import Cause
from gitbot.model.objects import Json, KubernetesObject, at

STRATEGIES = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
_MACHINES = {"amd64": ["q35*", "pc-q35*"], "arm64": ["virt*"], "s390x": ["s390-ccw-virtio*"]}
_STORAGE_VOLUMES = ("persistentVolumeClaim", "dataVolume")
_ARM_BUSES = (None, "", "virtio", "scsi")
_VIDEO = {"amd64": ("vga", "cirrus", "virtio", "ramfb", "bochs"), "arm64": ("virtio", "ramfb")}


def spec_causes(spec: Json, path: str, kubevirt: KubernetesObject) -> tuple[Cause, ...]:
    """Why this spec is refused; `path` is where it stands (`spec`, `spec.template.spec`)."""
    return tuple(cause for rule in _RULES for cause in rule(spec, path, kubevirt))


def first_causes(spec: Json, path: str, kubevirt: KubernetesObject) -> tuple[Cause, ...]:
    """What is asked of a VMI before all else, and then once more with the rest."""
    return tuple(
        cause for rule in (discontinued, networks, disks) for cause in rule(spec, path, kubevirt)
    )


def instance_only_causes(spec: Json, path: str) -> tuple[Cause, ...]:
    """What is demanded of a VMI and not of a template: file systems for paths, and memory."""
    return (
        *_container_paths(spec, path),
        *_memory_given(spec, path),
    )


def _machine(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    machine = at(spec, "domain", "machine", "type", default="")
    architecture = str(spec.get("architecture") or "amd64")
    configured = setting(
        kubevirt, "architectureConfiguration", architecture, "emulatedMachines"
    ) or setting(kubevirt, "emulatedMachines" if architecture == "amd64" else "none")
    allowed: list[str] = configured or _MACHINES.get(architecture, ["q35*", "pc-q35*"])
    if machine and not any(_matches(machine, pattern) for pattern in allowed):
        field = f"{path}.domain.machine.type"
        listed = " ".join(allowed)
        yield invalid_value(
            field, f"{field} is not supported: {machine} (allowed values: [{listed}])"
        )


def _matches(text: str, pattern: str) -> bool:
    start, star, rest = pattern.partition("*")
    return text == pattern if not star else text.startswith(start) and text.endswith(rest)


def _start_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    del kubevirt
    strategy, field = spec.get("startStrategy"), f"{path}.startStrategy"
    if strategy is None:
        return
    if strategy != "Paused":
        yield invalid_value(field, f"{field} is set with an unrecognized option: {strategy}")
    elif spec.get("livenessProbe") is not None:
        text = "should be provided.Pausing VMI with LivenessProbe is not supported"
        yield invalid_value(field, f"either {field} or {path}.livenessProbe {text}")


def _disks_have_volumes(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    volumes = {item.get("name"): item for item in spec.get("volumes") or ()}
    for index, disk in enumerate(at(spec, "domain", "devices", "disks", default=[])):
        field = f"{path}.domain.devices.disks[{index}]"
        volume = volumes.get(disk.get("name"))
        if volume is None and disk.get("cdrom") is None:
            yield invalid_value(f"{field}.name", f"{field}.Name '{disk.get('name')}' not found.")
        elif volume is None and not gate(kubevirt, "DeclarativeHotplugVolumes"):
            text = "feature gate not enabled, cannot define an empty CD-ROM disk"
            yield invalid_value(f"{field}.name", f"DeclarativeHotplugVolumes {text}")
        if (
            disk.get("lun") is not None
            and volume is not None
            and all(volume.get(kind) is None for kind in _STORAGE_VOLUMES)
        ):
            text = "can only be mapped to a DataVolume or PersistentVolumeClaim volume."
            yield invalid_value(f"{field}.lun", f"{field}.lun {text}")


def _io_threads(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    del kubevirt
    policy = at(spec, "domain", "ioThreadsPolicy")
    if policy is not None and policy not in ("shared", "auto", "supplementalPool"):
        yield invalid_value(f"{path}.domain.ioThreadsPolicy", f"Invalid IOThreadsPolicy ({policy})")
    count = at(spec, "domain", "ioThreads", "supplementalPoolThreadCount", default=0)
    if policy == "supplementalPool" and count < 1:
        text = "the number of iothreads needs to be set and positive for the dedicated policy"
        yield invalid_value(f"{path}.domain.ioThreads.count", text)


def _secure_boot(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    del kubevirt
    efi = at(spec, "domain", "firmware", "bootloader", "efi")
    smm = at(spec, "domain", "features", "smm")
    managed = smm is not None and smm.get("enabled") is not False
    secure = efi is not None and efi.get("secureBoot") is not False
    if secure and not managed and at(spec, "domain", "launchSecurity", "tdx") is None:
        text = "has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."
        yield invalid_value(f"{path}.domain", f"{path}.domain {text}")


def _eviction_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    del kubevirt
    strategy, field = spec.get("evictionStrategy"), f"{path}.evictionStrategy"
    if strategy is not None and strategy not in STRATEGIES:
        yield invalid_value(field, f"{field} is set with an unrecognized option: {strategy}")


def _host_devices(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    devices = at(spec, "domain", "devices", "hostDevices")
    if devices is not None and not gate(kubevirt, "HostDevices"):
        text = "Host Devices feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.HostDevices", text)


def _launch_security(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    security = at(spec, "domain", "launchSecurity")
    architecture = spec.get("architecture") or "amd64"
    if security is None or architecture == "s390x":
        return
    if architecture != "amd64":
        text = f"No launchSecurity support for architecture: {architecture}"
        yield invalid_value(f"{path}.architecture", text)
        return
    kinds = [kind for kind in ("sev", "snp", "tdx") if security.get(kind) is not None]
    field = f"{path}.launchSecurity"
    if len(kinds) != 1:
        text = "One and only one launchSecurity type can be set"
        yield Cause(reason="FieldValueForbidden", message=text, field=field)
        return
    needed = "WorkloadEncryptionTDX" if kinds == ["tdx"] else "WorkloadEncryptionSEV"
    if not gate(kubevirt, needed):
        yield invalid_value(field, f"{needed} feature gate is not enabled in kubevirt-config")
        return
    yield from _encrypted(spec, field, kinds[0])


def _encrypted(spec: Json, field: str, kind: str) -> Iterator[Cause]:
    smm = at(spec, "domain", "features", "smm")
    if kind == "tdx" and smm is not None and smm.get("enabled") is not False:
        yield invalid_value(field, "TDX does not work along with SMM")
    firmware = at(spec, "domain", "firmware", "bootloader", "efi")
    if firmware is None:
        yield invalid_value(field, f"{kind.upper()} requires OVMF (UEFI)")
    elif kind != "tdx" and firmware.get("secureBoot") is not False:
        yield invalid_value(field, f"{kind.upper()} does not work along with SecureBoot")


def _switches(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Devices behind feature gates or settings, in upstream's order."""
    devices: Json = at(spec, "domain", "devices", default={})
    if devices.get("autoattachVSOCK") and not gate(kubevirt, "VSOCK"):
        text = "VSOCK feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.domain.devices.autoattachVSOCK", text)
    reserved = any(at(disk, "lun", "reservation") for disk in devices.get("disks") or ())
    if reserved and not setting(kubevirt, "persistentReservationConfiguration", "enabled"):
        text = "persistent reservation is not enabled in kubevirt config"
        yield invalid_value(f"{path}.domain.devices.disks.luns.reservation", text)
    if devices.get("downwardMetrics") is not None and not gate(kubevirt, "DownwardMetrics"):
        text = "downwardMetrics virtio serial is not allowed: DownwardMetrics feature gate is not"
        yield invalid_value(f"{path}.domain.devices.downwardMetrics", f"{text} enabled")


def _filesystems(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    volumes = {item.get("name"): item for item in spec.get("volumes") or ()}
    for item in at(spec, "domain", "devices", "filesystems", default=[]):
        volume = volumes.get(item.get("name"), {})
        stored = any(volume.get(kind) is not None for kind in _STORAGE_VOLUMES)
        if stored and not gate(kubevirt, "EnableVirtioFsStorageVolumes"):
            text = "virtiofs is not allowed: virtiofs feature gate is not enabled for PVC"
            yield invalid_value(f"{path}.domain.devices.filesystems", text)


def _video(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    del kubevirt
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
    _machine,
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
    _disks_have_volumes,
    boot_orders,
    inputs,
    _io_threads,
    probes,
    disks,
    firmware,
    _secure_boot,
    volumes,
    dns,
    _eviction_strategy,
    _host_devices,
    sound,
    _launch_security,
    _switches,
    _filesystems,
    _video,
    panic_devices,
    _reboot_policy,
    _reserved_overhead,
    service_account,
)


def _container_paths(spec: Json, path: str) -> Iterator[Cause]:
    """A path of the container is a file system for the guest; every other volume has a disk."""
    devices: Json = at(spec, "domain", "devices", default={})
    disks_by_name = {item.get("name") for item in devices.get("disks") or ()}
    systems = {item.get("name") for item in devices.get("filesystems") or ()}
    for index, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("containerPath") is None:
            continue
        field, name = f"{path}.domain.volumes[{index}]", volume.get("name")
        if name in disks_by_name:
            text = f"ContainerPath volume '{name}' must be mapped to a filesystem, not a disk"
            yield invalid_value(field, text)
        if name not in systems:
            text = "must have a matching filesystem defined in spec.domain.devices.filesystems"
            yield invalid_value(field, f"ContainerPath volume '{name}' {text}")


def _memory_given(spec: Json, path: str) -> Iterator[Cause]:
    memory: Json = at(spec, "domain", "memory", default={})
    requested = at(spec, "domain", "resources", "requests", "memory")
    if not requested and memory.get("guest") is None and memory.get("hugepages") is None:
        text = (
            f"no memory requested, at least one of '{path}.domain.memory.guest', "
            f"'{path}.domain.memory.hugepages.pageSize' or "
            f"'{path}.domain.resources.requests.memory' must be set"
        )
        yield Cause(reason="FieldValueRequired", message=text)


def architecture_causes(spec: Json, path: str) -> Iterator[Cause]:
    """What an architecture does not have; asked of a VMI alone."""
    architecture = str(spec.get("architecture") or "")
    if architecture not in _MACHINES:
        text = f"unsupported architecture: {architecture}"
        yield invalid_value(f"{path}.architecture", text)
    if architecture == "arm64":
        yield from _arm(spec, path)
    watchdog = at(spec, "domain", "devices", "watchdog")
    if architecture == "amd64" and watchdog is not None and watchdog.get("i6300esb") is None:
        text = "amd64 only supports I6300ESB watchdog device"
        yield _unsupported(f"{path}.domain.devices.watchdog", text)
    video = at(spec, "domain", "devices", "video", "type")
    if video is not None and video not in _VIDEO.get(architecture, (video,)):
        text = f"video model '{video}' is not supported on {architecture} architecture"
        yield _unsupported(f"{path}.domain.devices.video.type", text)


def _arm(spec: Json, path: str) -> Iterator[Cause]:
    domain: Json = at(spec, "domain", default={})
    if at(domain, "firmware", "bootloader", "bios") is not None:
        text = "Arm64 does not support bios boot, please change to uefi boot"
        yield _unsupported(f"{path}.domain.firmware.bootloader.bios", text)
    if at(domain, "cpu", "model") not in (None, "", "host-passthrough"):
        text = "currently, host-passthrough is the only model supported on Arm64"
        yield _unsupported(f"{path}.domain.cpu.model", text)
    devices: Json = domain.get("devices") or {}
    for index, disk in enumerate(devices.get("disks") or ()):
        for kind in ("disk", "cdrom", "lun"):
            if disk.get(kind) is not None and at(disk, kind, "bus") not in _ARM_BUSES:
                text = "Arm64 not support this disk bus type, please use virtio or scsi"
                yield _unsupported(f"{path}.domain.devices.disks[{index}].{kind}.bus", text)
    for kind, name in (("watchdog", "Watchdog"), ("sound", "sound")):
        if devices.get(kind) is not None:
            text = f"Arm64 not support {name} device"
            yield _unsupported(f"{path}.domain.devices.{kind}", text)


def _unsupported(field: str, text: str) -> Cause:
    return Cause(reason="FieldValueNotSupported", message=text, field=field)
