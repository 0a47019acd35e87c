"""What virt-api fills into the devices of a VMI, as its own rules see them.

Source: KubeVirt 1.9.0, pkg/defaults/{amd64,arm64,s390x}.go and api/core/v1/defaults.go. A template
gets none of it.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, at, with_value

_TARGETS = ("disk", "cdrom", "lun")
_WATCHDOGS = {"amd64": "i6300esb", "s390x": "diag288"}


def with_guest_defaults(spec: Json) -> Json:
    """The spec with targets and buses of disks, inputs, a watchdog's kind, arm64's boot loader."""
    architecture = str(spec.get("architecture") or "amd64")
    devices: Json = at(spec, "domain", "devices", default={})
    bus = "virtio" if architecture in ("arm64", "s390x") else "sata"
    filled: dict[str, Any] = dict(devices)
    if devices.get("disks"):
        filled["disks"] = [_disk(disk, bus) for disk in devices["disks"]]
    if devices.get("inputs"):
        filled["inputs"] = [_input(item) for item in devices["inputs"]]
    kind = _WATCHDOGS.get("amd64" if bus == "sata" else architecture)
    watchdog = devices.get("watchdog")
    if kind is not None and watchdog is not None and watchdog.get(kind) is None:
        filled["watchdog"] = {**watchdog, kind: {"action": "reset"}}
    changed = with_value(spec, filled, "domain", "devices")
    return _with_loader(changed) if architecture == "arm64" else changed


def _disk(disk: Json, bus: str) -> Json:
    if all(disk.get(target) is None for target in _TARGETS):
        return {**disk, "disk": {"bus": bus}}
    filled = {
        target: {**disk[target], "bus": disk[target].get("bus") or bus}
        for target in _TARGETS
        if disk.get(target) is not None
    }
    return {**disk, **filled}


def _input(item: Json) -> Json:
    return {**item, "bus": item.get("bus") or "usb", "type": item.get("type") or "tablet"}


def _with_loader(spec: Json) -> Json:
    """EFI without secure boot."""
    path = ("domain", "firmware", "bootloader")
    if at(spec, *path) is None:
        return with_value(spec, {"efi": {"secureBoot": False}}, *path)
    efi = at(spec, *path, "efi")
    if efi is None or efi.get("secureBoot") is not None:
        return spec
    return with_value(spec, {**efi, "secureBoot": False}, *path, "efi")
