"""What virt-api refuses because the architecture of a guest has no such thing.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks/{amd64,arm64,s390x}.go and vmi-create-admitter.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_MACHINES = {"amd64": ["q35*", "pc-q35*"], "arm64": ["virt*"], "s390x": ["s390-ccw-virtio*"]}
_ARM_BUSES = (None, "", "virtio", "scsi")
_VIDEO = {
    "amd64": ("vga", "cirrus", "virtio", "ramfb", "bochs"),
    "arm64": ("virtio", "ramfb"),
    "s390x": ("virtio",),
}
_WATCHDOGS = {"amd64": ("i6300esb", "I6300ESB"), "s390x": ("diag288", "Diag288")}


def machine(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """A machine type of those that the cluster emulates; the old setting is for all of them."""
    given = at(spec, "domain", "machine", "type", default="")
    architecture = str(spec.get("architecture") or "amd64")
    known = architecture if architecture in _MACHINES else "amd64"
    allowed: list[str] = (
        setting(kubevirt, "emulatedMachines")
        or setting(kubevirt, "architectureConfiguration", known, "emulatedMachines")
        or _MACHINES[known]
    )
    if given and not any(_matches(given, pattern) for pattern in allowed):
        field = f"{path}.domain.machine.type"
        listed = " ".join(allowed)
        yield invalid_value(
            field, f"{field} is not supported: {given} (allowed values: [{listed}])"
        )


def _matches(text: str, pattern: str) -> bool:
    start, star, rest = pattern.partition("*")
    return text == pattern if not star else text.startswith(start) and text.endswith(rest)


def architecture_causes(spec: Json, path: str) -> Iterator[Cause]:
    """What an architecture does not have; asked of a VMI alone."""
    architecture = str(spec.get("architecture") or "")
    if architecture not in _MACHINES:
        text = f"unsupported architecture: {architecture}"
        yield invalid_value(f"{path}.architecture", text)
    if architecture == "arm64":
        yield from _arm(spec, path)
    watchdog = at(spec, "domain", "devices", "watchdog")
    if watchdog is not None and architecture in _WATCHDOGS:
        wanted, name = _WATCHDOGS[architecture]
        if [kind for kind, _ in _WATCHDOGS.values() if watchdog.get(kind) is not None] != [wanted]:
            text = f"{architecture} only supports {name} watchdog device"
            yield _unsupported(f"{path}.domain.devices.watchdog", text)
    video = at(spec, "domain", "devices", "video")
    kind = str(at(video, "type", default=""))
    if video is not None and kind not in _VIDEO.get(architecture, (kind,)):
        text = f"video model '{kind}' is not supported on {architecture} architecture"
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
