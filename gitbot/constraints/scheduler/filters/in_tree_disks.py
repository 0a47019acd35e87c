"""Disks of Kubernetes' own plugins that CSI drivers handle now: which driver, which volume.

Source: csi-translation-lib 0.36 and kube-scheduler (plugins/nodevolumelimits,
plugins/volumebinding). Only plugins whose migration cannot be switched off are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import Json, at, labels_of
from gitbot.model.cluster.scheduling import ZONE

_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_REGION = "topology.kubernetes.io/region"
_SEPARATOR = "__"  # between the zones of a label with several
_ANY = "UNSPECIFIED"


@dataclass(frozen=True, slots=True, kw_only=True)
class InTreeDisk:
    """A volume source by its `field`; `handle` names the disk; `zone` is the driver's own label.

    `zone` is "" if the driver has no label for the zone.
    """

    field: str
    plugin: str
    driver: str
    handle: str
    zone: str = ""


DISKS = (
    InTreeDisk(
        field="awsElasticBlockStore",
        plugin="kubernetes.io/aws-ebs",
        driver="ebs.csi.aws.com",
        handle="volumeID",
        zone="topology.ebs.csi.aws.com/zone",
    ),
    InTreeDisk(
        field="gcePersistentDisk",
        plugin="kubernetes.io/gce-pd",
        driver="pd.csi.storage.gke.io",
        handle="pdName",
        zone="topology.gke.io/zone",
    ),
    InTreeDisk(
        field="azureDisk",
        plugin="kubernetes.io/azure-disk",
        driver="disk.csi.azure.com",
        handle="diskURI",
    ),
    InTreeDisk(
        field="cinder",
        plugin="kubernetes.io/cinder",
        driver="cinder.csi.openstack.org",
        handle="volumeID",
        zone="topology.cinder.csi.openstack.org/zone",
    ),
    InTreeDisk(
        field="portworxVolume",
        plugin="kubernetes.io/portworx-volume",
        driver="pxd.portworx.com",
        handle="volumeID",
    ),
)
_FIELDS = frozenset(disk.field for disk in DISKS)
_NOT_SERVED = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
_DRIVERS = {disk.plugin: disk.driver for disk in DISKS} | dict.fromkeys(_NOT_SERVED, "")


def disk_of(source: Json) -> InTreeDisk | None:
    """The kind of disk of a pod's volume or a volume's spec; None for any other."""
    if _FIELDS.isdisjoint(source):
        return None
    return next((disk for disk in DISKS if source.get(disk.field) is not None), None)


def driver_of(provisioner: str) -> str:
    """The CSI driver behind a class's provisioner; "" if its volumes are not counted."""
    return _DRIVERS.get(provisioner, provisioner)


def inline_handle(volume: Json) -> tuple[str, str] | None:
    """Driver and handle of a disk that a pod names inline; None for any other volume."""
    return _handle(volume, {})


def volume_handle(volume: Json) -> tuple[str, str] | None:
    """Driver and handle of a PersistentVolume that is such a disk; None for any other."""
    return _handle(volume.get("spec") or {}, labels_of(volume))


def _handle(source: Json, labels: Mapping[str, str]) -> tuple[str, str] | None:
    disk = disk_of(source)
    if disk is None:
        return None
    name = str(at(source, disk.field, disk.handle, default=""))
    match disk.field:
        case "awsElasticBlockStore":
            name = _ebs_handle(name)
        case "gcePersistentDisk":
            name = _gce_handle(name, labels.get(_BETA_ZONE) or labels.get(ZONE) or "")
        case "azureDisk":
            kind = str(at(source, disk.field, "kind", default="Managed"))
            name = name if kind.lower() == "managed" else ""
    return (disk.driver, name) if name else None


def _ebs_handle(name: str) -> str:
    """`aws://zone/vol-1` is vol-1; "" for any other name."""
    scheme, separator, place = name.partition("aws://")
    if scheme or not separator:
        return name
    volume = place.partition("/")[2].strip("/")
    return volume if volume.startswith("vol-") and "/" not in volume else ""


def _gce_handle(name: str, label: str) -> str:
    """Named with the zone, or with the common region of several zones; "" without one."""
    zones = label.split(_SEPARATOR)
    if len(zones) == 1:
        return f"projects/{_ANY}/zones/{zones[0] or _ANY}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(part[:2]) for part in parts}
    if len(regions) != 1 or any(len(part) != 3 for part in parts):
        return ""
    return f"projects/{_ANY}/regions/{regions.pop()}/disks/{name}"


def driver_terms(volume: Json) -> list[Any] | None:
    """The nodeSelectorTerms of a volume on a node that serves it through its CSI driver.

    Zones use the driver's own label. A volume without node affinity for a zone takes it from its
    zone label. None if every node reaches the volume.
    """
    disk = disk_of(volume.get("spec") or {})
    required = at(volume, "spec", "nodeAffinity", "required")
    terms = None if required is None else list(required.get("nodeSelectorTerms") or ())
    if disk is None or not disk.zone:
        return terms
    labels = labels_of(volume)
    zone = _zone_key(terms or [], labels)
    renamed = {}
    if _has_values(terms or [], zone):
        renamed[zone] = disk.zone
    else:
        named = sorted({part.strip() for part in labels.get(zone, "").split(_SEPARATOR)} - {""})
        if named:
            added = {"key": disk.zone, "operator": "In", "values": named}
            terms = [_with(term, added) for term in terms or [{}]]
    if zone == _BETA_ZONE and _has_values(terms or [], _BETA_REGION):
        renamed[_BETA_REGION] = _REGION
    return None if terms is None else [_renamed(term, renamed) for term in terms]


def _zone_key(terms: list[Any], labels: Mapping[str, str]) -> str:
    """The zone label that a volume uses: from its affinity, its labels, or the current default."""
    keys = {item.get("key") for item in _expressions(terms)}
    for held in (keys, labels):
        for key in (ZONE, _BETA_ZONE):
            if key in held:
                return key
    return ZONE


def _expressions(terms: list[Any]) -> list[Any]:
    return [item for term in terms for item in term.get("matchExpressions") or ()]


def _has_values(terms: list[Any], key: str) -> bool:
    return any(item.get("values") for item in _expressions(terms) if item.get("key") == key)


def _with(term: Json, added: Json) -> dict[str, Any]:
    return {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), added]}


def _renamed(term: Json, keys: Mapping[str, str]) -> dict[str, Any]:
    items = [
        {**item, "key": keys.get(item.get("key", ""), item.get("key"))}
        for item in term.get("matchExpressions") or ()
    ]
    return {**term, "matchExpressions": items}
