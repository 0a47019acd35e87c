"""Random claims and volumes: bound, waiting, lost, zonal, shared, with limits of drivers."""

from dataclasses import dataclass, field
from typing import Any

from tests.scheduling.dice import Dice
from tests.scheduling.nodes import BETA_ZONE, REGION, REGIONS, ZONE, ZONES
from tests.scheduling.selectors import NAMESPACES

Object = dict[str, Any]
DRIVERS = ("csi.example.com", "block.example.com")
CLASSES = ("immediate", "wait", "wait-zonal", "no-provisioner", "")


@dataclass
class Disks:
    """Storage objects of a scenario, and the claims that its pods may name by namespace."""

    objects: list[Object] = field(default_factory=list)
    claims: dict[str, list[str]] = field(default_factory=dict)

    def add_scratch(self, dice: Dice, namespace: str, pod: str) -> None:
        """The claim of a pod's generic ephemeral volume; it may be absent or another's."""
        if dice.chance(10):
            return
        name = f"{pod}-scratch"
        claim = _claim(dice, namespace, name)
        foreign = pod.startswith("judged") and dice.chance(8)
        owner = "uid-of-another" if foreign else f"uid-{pod}"
        claim["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": owner, "controller": True}
        ]
        claim["spec"]["storageClassName"] = dice.pick(CLASSES[1:3])
        self.objects.append(claim)


def storage(dice: Dice, nodes: list[str]) -> Disks:
    """Classes, volumes, claims, driver limits and attachments."""
    found = Disks(objects=_classes(dice))
    for number in range(dice.number(3, 14)):
        _add_claim(dice, found, number, nodes)
    for number in range(dice.number(0, 4)):
        found.objects.append(_volume(dice, f"free-{number}", nodes, claim=None))
    for name in nodes:
        if dice.chance(50):
            found.objects.append(_csi_node(dice, name))
    volumes = [item for item in found.objects if item["kind"] == "PersistentVolume"]
    for number in range(dice.number(0, 3) if volumes else 0):
        found.objects.append(_attachment(dice, number, dice.pick(volumes), dice.pick(nodes)))
    return found


def _classes(dice: Dice) -> list[Object]:
    def make(name: str, mode: str, provisioner: str, zones: list[str] | None = None) -> Object:
        found: Object = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
        }
        if zones:
            topology = {"matchLabelExpressions": [{"key": ZONE, "values": zones}]}
            found["allowedTopologies"] = [topology]
        return found

    return [
        make("immediate", "Immediate", DRIVERS[0]),
        make("wait", "WaitForFirstConsumer", dice.pick(DRIVERS)),
        make("wait-zonal", "WaitForFirstConsumer", DRIVERS[0], dice.some(ZONES, 1, 2)),
        make("no-provisioner", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"),
    ]


def _claim(dice: Dice, namespace: str, name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {
            "accessModes": [_mode(dice)],
            "resources": {"requests": {"storage": dice.pick(("1Gi", "5Gi", "10Gi"))}},
            "volumeMode": dice.pick(("Filesystem", "Filesystem", "Block")),
        },
        "status": {"phase": "Pending"},
    }


def _add_claim(dice: Dice, found: Disks, number: int, nodes: list[str]) -> None:
    namespace, name = dice.pick(NAMESPACES), f"claim-{number}"
    claim = _claim(dice, namespace, name)
    if dice.chance(80):
        volume = _volume(dice, f"pv-{number}", nodes, claim=claim)
        claim["spec"]["volumeName"] = f"pv-{number}"
        claim["spec"]["storageClassName"] = volume["spec"]["storageClassName"]
        claim["status"]["phase"] = "Bound" if dice.chance(97) else "Lost"
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        if dice.chance(97):
            found.objects.append(volume)
    else:
        claim["spec"]["storageClassName"] = dice.pick(CLASSES)
        if dice.chance(15):
            claim["metadata"]["annotations"] = {
                "volume.kubernetes.io/selected-node": dice.pick(nodes)
            }
        if dice.chance(20):
            key = {"matchLabels": {"disk": dice.pick(("fast", "slow"))}}
            claim["spec"]["selector"] = key
    if dice.chance(3):
        claim["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
        claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    found.objects.append(claim)
    found.claims.setdefault(namespace, []).append(name)


def _mode(dice: Dice) -> str:
    return dice.pick(
        ("ReadWriteMany", "ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod")
    )


def _volume(dice: Dice, name: str, nodes: list[str], *, claim: Object | None) -> Object:
    labels: dict[str, str] = {}
    if dice.chance(30):
        labels[dice.pick((ZONE, ZONE, BETA_ZONE))] = dice.pick((*ZONES, "eu-a__eu-b", ""))
    if dice.chance(12):
        labels[REGION] = dice.pick(REGIONS)
    if dice.chance(30):
        labels["disk"] = dice.pick(("fast", "slow"))
    modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]
    spec: Object = {
        "capacity": {"storage": dice.pick(("1Gi", "5Gi", "10Gi", "20Gi"))},
        "accessModes": list(claim["spec"]["accessModes"]) if claim else dice.some(modes, 1, 3),
        "storageClassName": dice.pick(CLASSES),
        "volumeMode": claim["spec"]["volumeMode"] if claim else "Filesystem",
    }
    if dice.chance(75):
        handle = f"handle-{name}" if dice.chance(85) else "handle-shared"
        spec["csi"] = {"driver": dice.pick(DRIVERS), "volumeHandle": handle}
    else:
        spec["nfs"] = {"server": "nfs.example", "path": "/"}
    if dice.chance(35):
        terms = dice.several(lambda: _term(dice, nodes), 1, 2)
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if claim:
        spec["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "namespace": claim["metadata"]["namespace"],
            "name": claim["metadata"]["name"],
            "uid": claim["metadata"]["uid"],
        }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels, "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"phase": "Bound" if claim else "Available"},
    }


def _term(dice: Dice, nodes: list[str]) -> Object:
    if dice.chance(6):
        fields = {"key": "metadata.name", "operator": "In", "values": [dice.pick(nodes)]}
        return {"matchFields": [fields]}
    if dice.chance(20):
        values = dice.some(nodes, 1, 3)
        item = {"key": "kubernetes.io/hostname", "operator": "In", "values": values}
    else:
        item = {"key": ZONE, "operator": "In", "values": dice.some(ZONES, 1, 2)}
    return {"matchExpressions": [item]}


def _csi_node(dice: Dice, name: str) -> Object:
    drivers = []
    for driver in dice.some(DRIVERS, 1, 2):
        entry: Object = {"name": driver, "nodeID": name, "topologyKeys": []}
        if dice.chance(80):
            entry["allocatable"] = {"count": dice.number(0, 3)}
        drivers.append(entry)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def _attachment(dice: Dice, number: int, volume: Object, node: str) -> Object:
    driver = volume["spec"].get("csi", {}).get("driver", DRIVERS[0])
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"attachment-{number}"},
        "spec": {
            "attacher": driver,
            "nodeName": node,
            "source": {"persistentVolumeName": volume["metadata"]["name"]},
        },
        "status": {"attached": dice.chance(70)},
    }
