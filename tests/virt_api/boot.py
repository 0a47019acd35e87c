"""What virt-api refuses in how disks, volumes and the order of booting go together.

Source: KubeVirt 1.9.0, vmi-create-admitter.go, validateBootOrder, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value

STORAGE_VOLUMES = ("persistentVolumeClaim", "dataVolume")


def boot_orders(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """A disk shows a volume; every device that boots has a place of its own."""
    volumes = {item.get("name"): item for item in spec.get("volumes") or ()}
    taken: set[int] = set()
    for index, disk in enumerate(at(spec, "domain", "devices", "disks", default=[])):
        field = f"{path}.domain.devices.disks[{index}]"
        volume = volumes.get(disk.get("name"))
        if volume is None:
            yield from _without_volume(disk, field, kubevirt)
        else:
            yield from _of_volume(disk, volume, field)
        yield from _order(disk.get("bootOrder"), f"{field}.bootOrder", taken)
    for index, item in enumerate(at(spec, "domain", "devices", "interfaces", default=[])):
        order = item.get("bootOrder")
        if order is not None and order < 1:
            text = f"{path}[{index}] must have a boot order > 0, if supplied"
            yield invalid_value(f"{path}[{index}].bootOrder", text)
            continue
        field = f"{path}.domain.devices.interfaces[{index}].bootOrder"
        yield from _order(order, field, taken)


def _order(order: int | None, field: str, taken: set[int]) -> Iterator[Cause]:
    if order is None:
        return
    if order in taken:
        text = f"Boot order for {field} already set for a different device."
        yield invalid_value(field, text)
    taken.add(order)


def _without_volume(disk: Json, field: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if disk.get("cdrom") is None:
        yield invalid_value(f"{field}.name", f"{field}.Name '{disk.get('name')}' not found.")
    elif not gate(kubevirt, "DeclarativeHotplugVolumes"):
        text = "feature gate not enabled, cannot define an empty CD-ROM disk"
        yield invalid_value(f"{field}.name", f"DeclarativeHotplugVolumes {text}")


def _of_volume(disk: Json, volume: Json, field: str) -> Iterator[Cause]:
    if disk.get("lun") is not None and all(volume.get(kind) is None for kind in STORAGE_VOLUMES):
        text = "can only be mapped to a DataVolume or PersistentVolumeClaim volume."
        yield invalid_value(f"{field}.lun", f"{field}.lun {text}")
    if volume.get("downwardMetrics") is None:
        return
    if disk.get("disk") is None:
        text = f"DownwardMetrics volume must be mapped to a disk, but disk is not set on {field}"
        yield required_value(f"{field}.disk", f"{text}.disk.")
    elif disk["disk"].get("bus") not in (None, "", "virtio"):
        where = f"{field}.disk.bus"
        text = f"but {where} is set to {disk['disk']['bus']}"
        yield invalid_value(where, f"DownwardMetrics volume must be mapped to virtio bus, {text}")
