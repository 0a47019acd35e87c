"""Cases of claims, and of disks of Kubernetes' own plugins, which CSI drivers serve."""

from typing import Any

from tests.scheduling.regressions import (
    LOCAL,
    NO_MATCH,
    NOT_REACHED,
    TWO,
    ZONE,
    Object,
    Regression,
    claim,
    node,
    pod,
    uses,
    volume,
)

FULL = "NodeVolumeLimits: node(s) exceed max volume count"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
EBS, GCE = "ebs.csi.aws.com", "pd.csi.storage.gke.io"


def csi_node(name: str, plugins: str = "", **limits: int) -> Object:
    """A CSINode with limits by cloud, `ebs` and `gce`, and the plugins that it has migrated."""
    names = {"ebs": EBS, "gce": GCE}
    drivers = [
        {"name": names[cloud], "nodeID": name, "allocatable": {"count": count}}
        for cloud, count in limits.items()
    ]
    metadata: Object = {"name": name, "annotations": {MIGRATED: plugins}}
    spec = {"drivers": drivers}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": metadata,
        "spec": spec,
    }


def ebs(*names: str) -> list[Object]:
    """Volumes of a pod that are EBS disks."""
    return [
        {"name": f"e{number}", "awsElasticBlockStore": {"volumeID": name}}
        for number, name in enumerate(names)
    ]


def labelled(name: str, labels: dict[str, str], **spec: Any) -> Object:
    """A volume with labels."""
    return {**volume(name, **spec), "metadata": {"name": name, "labels": labels}}


def asks_zone(key: str, zone: str) -> Object:
    """Node affinity of a volume."""
    item = {"key": key, "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [item]}]}}


def in_driver_zone(name: str, key: str, zone: str) -> Object:
    """A node in zone a that the driver knows by a label of its own."""
    found = node(name)
    found["metadata"]["labels"][key] = zone
    return found


GKE = "topology.gke.io/zone"
DISK_REGRESSIONS = (
    Regression(name="a disk that a pod names itself counts for the driver that serves it",
        objects=[*TWO, csi_node("n1", ebs=1), csi_node("n2", ebs=1), pod("there", "n1",
            volumes=ebs("vol-1"))], judged=pod("new", volumes=ebs("vol-2")),
        verdicts={"n1": FULL, "n2": "ok"}),
    Regression(name="a claim that two volumes of the pod name finds its volume once only",
        objects=[*TWO, LOCAL, claim("d"), volume("v")], judged=pod("new", volumes=uses("d", "d")),
        verdicts=dict.fromkeys(("n1", "n2"), NO_MATCH)),
    Regression(name="a disk named with its zone is no other disk",
        objects=[*TWO, csi_node("n1", ebs=1), csi_node("n2", ebs=0), pod("there", "n1",
            volumes=uses("d")), claim("d", "v"), volume("v",
            awsElasticBlockStore={"volumeID": "aws://a/vol-1"})],
        judged=pod("new", volumes=uses("d")), verdicts={"n1": "ok", "n2": FULL}),
    Regression(name="a claim to be provisioned by a plugin counts for the driver that serves it",
        objects=[*TWO, csi_node("n1", gce=0), csi_node("n2", ebs=0), claim("d"),
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "local"}, "provisioner": "kubernetes.io/gce-pd",
            "volumeBindingMode": "WaitForFirstConsumer"}], judged=pod("new", volumes=uses("d")),
        verdicts={"n1": FULL, "n2": "ok"}),
    Regression(name="a node that migrated the plugin is asked for the driver's own zone label",
        objects=[in_driver_zone("n1", GKE, "a"), in_driver_zone("n2", GKE, "b"), node("n3"),
            csi_node("n1", "kubernetes.io/gce-pd"), csi_node("n2",
            "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"), claim("d", "v"), volume("v",
            gcePersistentDisk={"pdName": "p"}, nodeAffinity=asks_zone(ZONE, "a"))],
        judged=pod("new", volumes=uses("d")), verdicts={"n1": "ok", "n2": NOT_REACHED, "n3": "ok"}),
    Regression(
        name="a zone label of the volume is asked as node affinity where the plugin is migrated",
        objects=[
            in_driver_zone("n1", GKE, "a"),
            node("n2"),
            node("n3"),
            csi_node("n1", "kubernetes.io/gce-pd"),
            csi_node("n2", "kubernetes.io/gce-pd"),
            claim("d", "v"),
            labelled("v", {ZONE: "a"}, gcePersistentDisk={"pdName": "p"}),
        ],
        judged=pod("new", volumes=uses("d")),
        verdicts={"n1": "ok", "n2": NOT_REACHED, "n3": "ok"},
    ),
)  # fmt: skip
