"""The containers of a launcher pod, reduced to the fields of scheduling and quotas.

Source: KubeVirt, pkg/virt-controller/services/{template,renderresources,serialconsolelog}.go,
pkg/container-disk, pkg/virtiofs. Images, commands, mounts and security contexts are left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at
from gitbot.kubevirt import names
from gitbot.kubevirt.compute_resources import EPHEMERAL_STORAGE, Amounts
from gitbot.kubevirt.kubevirt_object import gate, setting, support_resource
from gitbot.kubevirt.memory_overhead import dedicated, guaranteed

_IMAGE = "registry.invalid/kubevirt/virt-launcher"


def container(name: str, requests: Json, limits: Json, **more: Any) -> dict[str, Any]:
    """A container with its resources; requests default to limits, as the API server does."""
    merged = {**limits, **requests}
    resources = {key: value for key, value in (("requests", merged), ("limits", limits)) if value}
    return {"name": name, "image": _IMAGE, "resources": resources, **more}


def quantities(amounts: Amounts) -> dict[str, str]:
    """Amounts in the scheduler's units as quantities, sorted by resource."""
    return {key: _quantity(key, amount) for key, amount in sorted(amounts.items())}


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    mebibytes = resource == "memory" or resource.startswith("hugepages-")
    if mebibytes and amount and amount % (1024 * 1024) == 0:
        return f"{amount // (1024 * 1024)}Mi"
    return str(amount)


def helper_containers(vmi: KubernetesObject, kubevirt: KubernetesObject) -> list[dict[str, Any]]:
    """The containers beside compute, in order: container disks, virtiofs, hook sidecars."""
    found: list[dict[str, Any]] = []
    if not gate(kubevirt, "ImageVolume"):
        found.extend(
            container(f"volume{name}", *_disk_resources(vmi, kubevirt))
            for name in container_disks(vmi)
        )
    shared = {fs.get("name") for fs in at(vmi, *_DEVICES, "filesystems", default=[])}
    for volume in at(vmi, "spec", "volumes", default=[]):
        if volume["name"] in shared and volume.get("containerPath") is None:
            sides = _support(kubevirt, "virtiofs", vmi, ("10m", "1M"), ("100m", "80M"))
            found.append(container(f"virtiofs-{volume['name']}", *sides))
    found.extend(
        container(f"hook-sidecar-{index}", *_sidecar_resources(vmi, kubevirt))
        for index, _ in enumerate((*hook_sidecars(vmi), *_network_sidecars(vmi, kubevirt)))
    )
    return found


def init_containers(
    vmi: KubernetesObject, kubevirt: KubernetesObject, known_images: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The init containers, in order.

    `known_images` are the container disks whose digest a source pod reports. With ImageVolume they
    need no container to look it up.
    """
    found: list[dict[str, Any]] = []
    if _logs_console(vmi, kubevirt):
        sides = _support(kubevirt, "guest-console-log", vmi, ("5m", "35M"), ("15m", "60M"))
        found.append(container("guest-console-log", *sides, restartPolicy="Always"))
    disks = container_disks(vmi)
    if gate(kubevirt, "ImageVolume"):
        found.extend(
            container(f"volume{name}", *_disk_resources(vmi, kubevirt))
            for name in disks
            if name not in known_images
        )
    elif disks:
        full = dedicated(vmi) or guaranteed(vmi)
        limits = support_side(
            kubevirt, "container-disk", "limits", "10m" if full else "100m", "40M"
        )
        requests = support_side(kubevirt, "container-disk", "requests", "10m", "1M")
        found.append(container("container-disk-binary", limits if full else requests, limits))
        found.extend(
            container(f"volume{name}-init", *_disk_resources(vmi, kubevirt)) for name in disks
        )
    return found


def container_disks(vmi: KubernetesObject) -> dict[str, str]:
    """Volume name to image, for each container disk; `kernel-boot-volume` counts as one."""
    volumes = at(vmi, "spec", "volumes", default=[])
    found = {
        volume["name"]: str(at(volume, "containerDisk", "image", default=""))
        for volume in volumes
        if volume.get("containerDisk") is not None
    }
    kernel = at(vmi, "spec", "domain", "firmware", "kernelBoot", "container")
    if kernel is not None:
        found["kernel-boot-volume"] = str(kernel.get("image", ""))
    return found


_DEVICES = ("spec", "domain", "devices")


def _logs_console(vmi: KubernetesObject, kubevirt: KubernetesObject) -> bool:
    devices: Json = at(vmi, *_DEVICES, default={})
    if devices.get("autoattachSerialConsole") is False:
        return False
    if devices.get("logSerialConsole") is not None:
        return bool(devices["logSerialConsole"])
    return setting(kubevirt, "virtualMachineOptions", "disableSerialConsoleLog") is None


def support_side(kubevirt: KubernetesObject, kind: str, side: str, cpu: str, memory: str) -> Json:
    """The `requests` or `limits` of a helper container, with their defaults."""
    return {
        "cpu": support_resource(kubevirt, kind, side, "cpu", cpu),
        "memory": support_resource(kubevirt, kind, side, "memory", memory),
    }


def _support(
    kubevirt: KubernetesObject,
    kind: str,
    vmi: KubernetesObject,
    requests: tuple[str, str],
    limits: tuple[str, str],
) -> tuple[Json, Json]:
    """A helper's requests and limits. Both are the limits if the VMI is guaranteed."""
    most = support_side(kubevirt, kind, "limits", *limits)
    if dedicated(vmi) or guaranteed(vmi):
        return most, most
    return support_side(kubevirt, kind, "requests", *requests), most


def _disk_resources(vmi: KubernetesObject, kubevirt: KubernetesObject) -> tuple[Json, Json]:
    requests, limits = _support(kubevirt, "container-disk", vmi, ("1m", "1M"), ("10m", "40M"))
    return {**requests, "ephemeral-storage": str(EPHEMERAL_STORAGE)}, limits


def _sidecar_resources(vmi: KubernetesObject, kubevirt: KubernetesObject) -> tuple[Json, Json]:
    if dedicated(vmi) or guaranteed(vmi):
        limits = support_side(kubevirt, "sidecar", "limits", "200m", "64M")
        return limits, limits
    sides = (support_side(kubevirt, "sidecar", side, "", "") for side in ("requests", "limits"))
    requests, limits = ({key: value for key, value in side.items() if value} for side in sides)
    return requests, limits


def hook_sidecars(vmi: KubernetesObject) -> Iterator[Any]:
    """The sidecars that the VMI asks for by annotation; none if the text is not a JSON list."""
    text = annotations_of(vmi).get(names.HOOK_SIDECARS)
    if text is None:
        return
    try:
        listed = json.loads(text)
    except ValueError:
        listed = []
    yield from listed if isinstance(listed, list) else []


def _network_sidecars(vmi: KubernetesObject, kubevirt: KubernetesObject) -> Iterator[str]:
    plugins: Json = setting(kubevirt, "network", "binding", default={})
    used = {at(i, "binding", "name") for i in at(vmi, *_DEVICES, "interfaces", default=[])}
    for name in sorted(used & set(plugins), key=str):
        if plugins[name].get("sidecarImage"):
            yield name
