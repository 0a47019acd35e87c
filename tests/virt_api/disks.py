"""What virt-api refuses in the disks of a VMI.

Source: KubeVirt 1.9.0, pkg/storage/admitters/disks.go, in its order. Some of its paths name the
disks twice: `spec.domain.devices.disks.domain.devices.disks[0]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.addresses import is_pci_address
from tests.virt_api.blocks import block_sizes
from tests.virt_api.names import label_problems

_TARGETS = ("disk", "lun", "cdrom")
_BUSES = ("virtio", "scsi", "sata", "usb")
_CACHES = ("", "none", "writethrough", "writeback")
_ERROR_POLICIES = (None, "stop", "ignore", "report", "enospace")
_SERIAL = re.compile(r"[A-Za-z0-9_.+-]+")


def disks(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Each disk by itself, and their names."""
    given = at(spec, "domain", "devices", "disks", default=[])
    names = [disk.get("name") for disk in given]
    for index, disk in enumerate(given):
        where = f"{path}.domain.devices.disks"
        field = f"{where}[{index}]"
        for other in range(index):
            if names[other] == names[index]:
                text = f"{field} and {where}[{other}] must not have the same Name."
                yield invalid_value(f"{field}.name", text)
        if sum(disk.get(target) is not None for target in _TARGETS) > 1:
            yield invalid_value(field, f"{field} can only have a single target type defined")
        yield from _address(disk, where, index)
        order = disk.get("bootOrder")
        if order is not None and order < 1:
            text = f"{field} must have a boot order > 0, if supplied"
            yield invalid_value(f"{field}.bootOrder", text)
        twice = f"{where}.domain.devices.disks"
        bus = _bus_of(disk)
        yield from _bus(disk, field, bus)
        if bus and bus != "virtio" and disk.get("dedicatedIOThread"):
            text = f"IOThreads are not supported for disks on a {bus} bus"
            named = f"{twice}[{index}]"
            yield Cause(reason="FieldValueNotSupported", message=text, field=named)
        yield from _values(disk, field, where, f"{twice}[{index}]")
        yield from block_sizes(disk, bus, field)


def _address(disk: Json, where: str, index: int) -> Iterator[Cause]:
    address = at(disk, "disk", "pciAddress")
    if not address:
        return
    field = f"{where}.domain.devices.disks.disk[{index}]"
    if at(disk, "disk", "bus") != "virtio":
        text = "setting a PCI address is only possible with bus type virtio."
        yield invalid_value(f"{field}.pciAddress", f"disk {field}.name - {text}")
    if not is_pci_address(address):
        text = f"disk {field}.name has malformed PCI address ({address})."
        yield invalid_value(f"{field}.pciAddress", text)


def _target_of(disk: Json) -> str:
    return next((name for name in _TARGETS if disk.get(name) is not None), "")


def _bus_of(disk: Json) -> str:
    target = _target_of(disk)
    return str(at(disk, target, "bus", default="")) if target else ""


def _bus(disk: Json, field: str, bus: str) -> Iterator[Cause]:
    if not bus:
        return
    target = _target_of(disk)
    where = f"{field}.{target}.bus"
    if bus == "ide":
        yield invalid_value(where, "IDE bus is not supported")
    elif bus == "virtio" and target == "cdrom":
        yield invalid_value(where, f"Bus type {bus} is invalid for CD-ROM device")
    elif bus == "sata" and at(disk, "disk", "readonly"):
        yield invalid_value(where, f"{bus} hard-disks do not support read-only.")
    elif bus not in _BUSES:
        listed = " ".join(_BUSES)
        text = f"{field} is set with an unrecognized bus {bus}, must be one of: [{listed}]"
        yield invalid_value(where, text)


def _values(disk: Json, field: str, where: str, twice: str) -> Iterator[Cause]:
    serial = disk.get("serial") or ""
    if serial and _SERIAL.fullmatch(serial) is None:
        text = "must be made up of the following characters [A-Za-z0-9_.+-], if specified"
        yield invalid_value(f"{field}.serial", f"{field} {text}")
    if len(serial) > 256:
        text = "must be less than or equal to 256 in length, if specified"
        yield invalid_value(f"{field}.serial", f"{field} {text}")
    cache, policy = disk.get("cache") or "", disk.get("errorPolicy")
    if cache not in _CACHES:
        yield invalid_value(f"{field}.cache", f"{field}.cache has invalid value {cache}")
    if disk.get("io") not in (None, "", "native", "threads"):
        text = f"Disk IO mode for {where} is not supported. Supported modes are: native, threads."
        yield Cause(reason="FieldValueNotSupported", message=text, field=f"{twice}.io")
    if policy not in _ERROR_POLICIES:
        text = f'{field}.errorPolicy has invalid value "{policy}"'
        yield invalid_value(f"{field}.errorPolicy", text)
    for problem in label_problems(str(disk.get("name") or "")):
        yield invalid_value(f"{twice}.name", problem)
