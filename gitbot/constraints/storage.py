"""Claims, volumes, classes and drivers of one snapshot, as the volume filters look them up."""

from __future__ import annotations

from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.objects import Json, at, name_of


class Storage:
    """Lookups by name. A claim is filed under (namespace, name)."""

    __slots__ = ("attachments", "claims", "classes", "drivers", "volumes")

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.claims = {
            (name_of(obj).namespace, name_of(obj).name): obj
            for obj in snapshot.of("PersistentVolumeClaim")
        }
        self.volumes = {name_of(obj).name: obj for obj in snapshot.of("PersistentVolume")}
        self.classes = {name_of(obj).name: obj for obj in snapshot.of("StorageClass")}
        self.drivers = {name_of(obj).name: _limits(obj) for obj in snapshot.of("CSINode")}
        self.attachments = tuple(snapshot.of("VolumeAttachment"))

    def claim(self, namespace: str, name: str) -> Json | None:
        """A claim, None where the snapshot has none of that name."""
        return self.claims.get((namespace, name))

    def volume_of(self, claim: Json) -> Json | None:
        """The volume that a claim is bound to."""
        return self.volumes.get(at(claim, "spec", "volumeName", default=""))

    def csi_handle(self, namespace: str, name: str) -> tuple[str, str] | None:
        """Driver and unique handle of a claim's CSI volume; None where it has none."""
        claim = self.claim(namespace, name)
        if claim is None:
            return None
        volume_name = at(claim, "spec", "volumeName", default="")
        if not volume_name:
            return self._to_be_provisioned(claim, namespace, name)
        volume = self.volumes.get(volume_name)
        driver = at(volume, "spec", "csi", "driver", default="")
        handle = at(volume, "spec", "csi", "volumeHandle", default="")
        return (driver, handle) if driver and handle else None

    def _to_be_provisioned(self, claim: Json, namespace: str, name: str) -> tuple[str, str] | None:
        """An unbound claim counts for the driver of its class, under a name of its own."""
        class_name = at(claim, "spec", "storageClassName", default="")
        provisioner = at(self.classes.get(class_name), "provisioner", default="")
        return (provisioner, f"{namespace}/{name}") if provisioner else None


def _limits(csi_node: Json) -> dict[str, int]:
    """Driver to the number of volumes that the node may have attached."""
    return {
        driver.get("name", ""): int(count)
        for driver in at(csi_node, "spec", "drivers", default=())
        if (count := at(driver, "allocatable", "count")) is not None
    }
