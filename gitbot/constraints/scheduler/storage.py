"""Claims, volumes, classes and drivers of one snapshot, for the volume filters."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.constraints.scheduler.filters.in_tree_disks import (
    disk_of,
    driver_of,
    driver_terms,
    inline_handle,
    volume_handle,
)
from gitbot.kubernetes.objects import Json, annotations_of, at, name_of
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.grouping import grouped


class Storage:
    """Lookups by name. Claims are keyed by (namespace, name).

    `needed` are the drivers without which a node takes none of their volumes; `installed` are the
    drivers of nodes, if the snapshot has CSINodes. `capacities` are the CSIStorageCapacity objects
    of a class, sorted by name. `measured` are the drivers whose capacities count; `room_known` is
    whether the snapshot says which those are, and has their capacities.
    """

    __slots__ = (
        "_attached",
        "capacities",
        "claims",
        "classes",
        "drivers",
        "installed",
        "measured",
        "migrated",
        "needed",
        "room_known",
        "volumes",
    )

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.claims = {
            (name_of(obj).namespace, name_of(obj).name): obj
            for obj in snapshot.of("PersistentVolumeClaim")
        }
        self.volumes = {name_of(obj).name: obj for obj in snapshot.of("PersistentVolume")}
        self.classes = {name_of(obj).name: obj for obj in snapshot.of("StorageClass")}
        self.drivers = {name_of(obj).name: _limits(obj) for obj in snapshot.of("CSINode")}
        self.migrated = {
            name_of(obj).name: _migrated(obj) for obj in snapshot.of("CSINode") if _migrated(obj)
        }
        self.installed = {
            (name_of(obj).name, driver.get("name", ""))
            for obj in snapshot.of("CSINode")
            for driver in at(obj, "spec", "drivers", default=())
        }
        # without a CSINode at all, the snapshot does not say which drivers a node has
        self.needed = (
            _drivers(snapshot, "preventPodSchedulingIfMissing") if self.drivers else frozenset()
        )
        self.capacities = grouped(
            (at(obj, "storageClassName", default=""), obj)
            for obj in snapshot.of("CSIStorageCapacity")
        )
        measured = _drivers(snapshot, "storageCapacity")
        unread = snapshot.unread("CSIStorageCapacity") and bool(measured)
        self.room_known = not (snapshot.unread("CSIDriver") or unread)
        self.measured = measured if self.room_known else frozenset()
        self._attached: dict[tuple[str, str], set[str]] = {}
        for attachment in snapshot.of("VolumeAttachment"):
            self._attach(attachment)

    def claim(self, pod: Pod, name: str) -> Json | None:
        """A claim that a pod names: one of the cluster, or one that is created with the pod."""
        return pod.new_claims.get(name) or self.claims.get((pod.namespace, name))

    def volume_of(self, claim: Json) -> Json | None:
        return self.volumes.get(at(claim, "spec", "volumeName", default=""))

    def csi_volumes(self, pod: Pod) -> set[tuple[str, str]]:
        found = set()
        for volume in pod.volumes:
            claim = pod.claim_of(volume)
            named = self._csi_handle(pod, claim) if claim else inline_handle(volume)
            if named is not None:
                found.add(named)
        return found

    def _csi_handle(self, pod: Pod, name: str) -> tuple[str, str] | None:
        claim = self.claim(pod, name)
        if claim is None:
            return None
        volume_name = at(claim, "spec", "volumeName", default="")
        if not volume_name:
            return self._to_be_provisioned(claim, pod.namespace, name)
        volume = self.volumes.get(volume_name)
        if volume is None:
            return self._to_be_provisioned(claim, pod.namespace, name)
        if at(volume, "spec", "csi") is None:
            return volume_handle(volume)
        driver = at(volume, "spec", "csi", "driver", default="")
        handle = at(volume, "spec", "csi", "volumeHandle", default="")
        return (driver, handle) if driver and handle else None

    def attached(self, node: str, driver: str) -> Iterable[str]:
        return self._attached.get((node, driver), ())

    def _attach(self, attachment: Json) -> None:
        name = at(attachment, "spec", "source", "persistentVolumeName", default="")
        handle = at(self.volumes.get(name), "spec", "csi", "volumeHandle", default="")
        driver = at(attachment, "spec", "attacher", default="")
        if driver and handle:
            place = (at(attachment, "spec", "nodeName", default=""), driver)
            self._attached.setdefault(place, set()).add(handle)

    def _to_be_provisioned(self, claim: Json, namespace: str, name: str) -> tuple[str, str] | None:
        """An unbound claim counts for the driver of its class, under a placeholder name."""
        provisioner = at(self.classes.get(class_of(claim)), "provisioner", default="")
        driver = driver_of(provisioner)
        return (driver, f"{namespace}/{name}") if driver else None


def _drivers(snapshot: ClusterSnapshot, field: str) -> frozenset[str]:
    """The drivers whose CSIDriver sets a field."""
    return frozenset(
        name_of(obj).name for obj in snapshot.of("CSIDriver") if at(obj, "spec", field) is True
    )


def _limits(csi_node: Json) -> dict[str, int]:
    return {
        driver.get("name", ""): int(count)
        for driver in at(csi_node, "spec", "drivers", default=())
        if (count := at(driver, "allocatable", "count")) is not None
    }


def _migrated(csi_node: Json) -> frozenset[str]:
    """The in-tree plugins whose volumes CSI drivers handle on the node."""
    listed = annotations_of(csi_node).get("storage.alpha.kubernetes.io/migrated-plugins") or ""
    return frozenset(listed.split(",")) - {""}


def is_bound(claim: Json) -> bool:
    """Whether a claim is fully bound: volume named and binding completed, in any phase."""
    named = bool(at(claim, "spec", "volumeName", default=""))
    return named and "pv.kubernetes.io/bind-completed" in annotations_of(claim)


def class_of(obj: Json) -> str:
    """The class of a claim or volume; the old annotation wins over the field."""
    named = annotations_of(obj).get("volume.beta.kubernetes.io/storage-class")
    return str(at(obj, "spec", "storageClassName", default="") if named is None else named)


def waits_for_consumer(claim: Json, storage: Storage) -> bool:
    """Whether an unbound claim is bound only when a pod uses it (WaitForFirstConsumer)."""
    if at(claim, "spec", "volumeName", default=""):
        return False
    storage_class = storage.classes.get(class_of(claim))
    return bool(at(storage_class, "volumeBindingMode", default="") == "WaitForFirstConsumer")


def required_terms(volume: Json) -> tuple[NodeMatcher, ...] | None:
    """A volume's required node affinity; None if every node reaches it."""
    required = at(volume, "spec", "nodeAffinity", "required")
    if required is None:
        return None
    return tuple(NodeMatcher.of(term) for term in required.get("nodeSelectorTerms") or ())


def terms_at(volume: Json, node: str, storage: Storage) -> tuple[NodeMatcher, ...] | None:
    """The same for one node: in the driver's terms if the node uses the disk through CSI."""
    if not served_by_csi(volume, node, storage):
        return required_terms(volume)
    terms = driver_terms(volume)
    return None if terms is None else tuple(NodeMatcher.of(term) for term in terms)


def served_by_csi(volume: Json, node: str, storage: Storage) -> bool:
    if not storage.migrated:
        return False
    disk = disk_of(volume.get("spec") or {})
    return disk is not None and disk.plugin in storage.migrated.get(node, ())


def allowed_topologies(storage_class: Json | None) -> tuple[NodeMatcher, ...]:
    """Where a class provisions; empty means everywhere."""
    return tuple(
        NodeMatcher.of(
            {
                "matchExpressions": [
                    {"key": item.get("key"), "operator": "In", "values": item.get("values")}
                    for item in term.get("matchLabelExpressions") or ()
                ]
            }
        )
        for term in at(storage_class, "allowedTopologies", default=())
    )


def access_modes(spec: Json) -> frozenset[str]:
    return frozenset(spec.get("accessModes") or ())
