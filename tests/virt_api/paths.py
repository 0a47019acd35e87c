"""What virt-api refuses in paths: inside images, and of the container that a guest shares.

Source: KubeVirt 1.9.0, pkg/storage/admitters/disks.go (ValidatePath, ValidateContainerDisks) and
vmi-create-admitter.go (validateKernelBoot, validateVirtualMachineInstanceSpecVolumeDisks).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_RESERVED = ("/var/run/kubevirt", "/var/run/libvirt")


def file_path(field: str, path: str) -> Iterator[Cause]:
    """A file in an image: absolute, without `.` and `..`."""
    if path == "/":
        yield invalid_value(field, f"{field} must not point to root")
        return
    # a double slash at the start is one to Go and two to posixpath
    clean = "/" + posixpath.normpath(f"/{path}").lstrip("/")
    if clean != path.removesuffix("/"):
        text = "must be an absolute path to a file without relative components"
        yield invalid_value(field, f"{field} {text}")


def container_disks(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Where in its image a disk is."""
    for index, volume in enumerate(spec.get("volumes") or ()):
        where = at(volume, "containerDisk", "path")
        if where:
            yield from file_path(f"{path}.volumes[{index}].containerDisk", where)


def container_paths(spec: Json, path: str) -> Iterator[Cause]:
    """A path of the container is a file system for the guest; every other volume has a disk."""
    devices: Json = at(spec, "domain", "devices", default={})
    disks = {item.get("name") for item in devices.get("disks") or ()}
    systems = {item.get("name") for item in devices.get("filesystems") or ()}
    for index, volume in enumerate(spec.get("volumes") or ()):
        shared, name = volume.get("containerPath"), volume.get("name")
        if shared is None:
            continue
        field = f"{path}.domain.volumes[{index}]"
        if name in disks:
            text = f"ContainerPath volume '{name}' must be mapped to a filesystem, not a disk"
            yield invalid_value(field, text)
        if name not in systems:
            text = "must have a matching filesystem defined in spec.domain.devices.filesystems"
            yield invalid_value(field, f"ContainerPath volume '{name}' {text}")
        taken = [prefix for prefix in _RESERVED if str(shared.get("path") or "").startswith(prefix)]
        if taken:
            text = f"ContainerPath volume '{name}' uses reserved path prefix '{taken[0]}'"
            yield invalid_value(f"{field}.containerPath.path", text)
