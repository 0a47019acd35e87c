"""What virt-api refuses in the volumes of a VMI.

Source: KubeVirt 1.9.0, vmi-create-admitter.go, validateVolumes, in its order.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import nanos
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value

_CLOUD_INIT = ("cloudInitNoCloud", "cloudInitConfigDrive")
_CLOUD_INIT_LIMIT = 2048
_SECRETS = {"user": "secretRef", "network": "networkDataSecretRef"}
_NAMED = (
    ("configMap", "name"),
    ("secret", "secretName"),
    ("serviceAccount", "serviceAccountName"),
)
_ONCE = (
    ("serviceAccount", "serviceAccount"),
    ("downwardMetrics", "downwardMetric"),
    ("memoryDump", "memory dump"),
)


def volumes(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Names, one source each, and what a source needs."""
    given = list(spec.get("volumes") or ())
    where = f"{path}.volumes"
    seen: dict[str, int] = {}
    for index, volume in enumerate(given):
        field, name = f"{where}[{index}]", str(volume.get("name"))
        if name in seen:
            text = f"{field} and {where}[{seen[name]}] must not have the same Name."
            yield invalid_value(f"{field}.name", text)
        seen.setdefault(name, index)
        if volume.get("dataVolume") is not None and not volume["dataVolume"].get("name"):
            yield required_value(f"{field}.name", "DataVolume 'name' must be set")
        if len([key for key in volume if key != "name" and volume[key] is not None]) != 1:
            yield invalid_value(field, f"{field} must have exactly one source type set")
        yield from _cloud_init(volume, field)
        if volume.get("downwardMetrics") is not None and not gate(kubevirt, "DownwardMetrics"):
            text = "downwardMetrics disks are not allowed: DownwardMetrics feature gate is not "
            yield invalid_value(field, f"{text}enabled.")
        if volume.get("hostDisk") is not None:
            yield from _host_disk(volume["hostDisk"], field, kubevirt)
        for kind, key in _NAMED:
            if volume.get(kind) is not None and not volume[kind].get(key):
                text = f"{field}.{kind}.{key} is a required field"
                yield invalid_value(f"{field}.{kind}.{key}", text)
    for kind, said in _ONCE:
        if sum(volume.get(kind) is not None for volume in given) > 1:
            yield invalid_value(where, f"{where} must have max one {said} volume set")


def _cloud_init(volume: Json, field: str) -> Iterator[Cause]:
    kind = next((kind for kind in _CLOUD_INIT if volume.get(kind) is not None), "")
    if not kind:
        return
    found, where = 0, f"{field}.{kind}"
    for part, said, long in (("user", "userdatasource", "User"), ("network", "", "Network")):
        texts = volume[kind].get(f"{part}Data") or "", volume[kind].get(f"{part}DataBase64") or ""
        secret = at(volume, kind, _SECRETS[part], "name")
        count = sum(map(bool, (*texts, secret)))
        size = len(texts[0].encode())
        if texts[1]:
            try:
                size = size or len(base64.b64decode(texts[1], validate=True))
            except binascii.Error:
                name = f"{where}.{part}DataBase64"
                text = f"{name}.{kind}.{part}DataBase64 is not a valid base64 value."
                yield invalid_value(name, text)
        if count > 1:
            what = said or "networkdata source"
            yield invalid_value(where, f"{where} must have only one {what} set.")
        if size > _CLOUD_INIT_LIMIT:
            text = f"{part}data exceeds {_CLOUD_INIT_LIMIT} byte limit. Should use "
            yield invalid_value(where, f"{where} {text}{long}DataSecretRef for larger data.")
        found += count
    if not found:
        text = "must have at least one userdatasource or one networkdatasource set."
        yield invalid_value(where, f"{where} {text}")


def _host_disk(disk: Json, field: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    where = f"{field}.hostDisk"
    if not gate(kubevirt, "HostDisk"):
        yield invalid_value(field, "HostDisk feature gate is not enabled")
    if not disk.get("path"):
        text = f"{where}.path is required for hostDisk volume"
        yield Cause(reason="FieldValueNotFound", message=text, field=f"{where}.path")
    kind = disk.get("type") or ""
    if kind not in ("Disk", "DiskOrCreate"):
        text = f"{where}.type has invalid value '{kind}', allowed are 'Disk' or 'DiskOrCreate'"
        yield invalid_value(f"{where}.type", text)
    if kind == "Disk" and disk.get("capacity") and nanos(disk["capacity"]):
        text = f"{where}.capacity is allowed to pass only with {where}.type equal to 'DiskOrCreate'"
        yield invalid_value(f"{where}.capacity", text)
