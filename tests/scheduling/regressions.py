"""Cases in which gitbot once differed from kube-scheduler, cut down to what made the difference."""

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
NOT_BOUND = "VolumeBinding: pod has unbound immediate PersistentVolumeClaims"
NO_MATCH = "VolumeBinding: node(s) didn't find available persistent volumes to bind"
NOT_REACHED = "VolumeBinding: node(s) didn't match PersistentVolume's node affinity"
REPELLED = "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules"


def node(name: str, zone: str = "a", **allocatable: str) -> Object:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    labels = {HOSTNAME: name, ZONE: zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts},
    }


def pod(name: str, node_name: str = "", *, cpu: str = "1", **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    found: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "labels": {"app": "web"},
        },
        "spec": {"containers": [container], **spec},
    }
    if node_name:
        found["spec"]["nodeName"] = node_name
    return found


def nominated(name: str, node_name: str, **spec: Any) -> Object:
    status = {"phase": "Pending", "nominatedNodeName": node_name}
    return {**pod(name, **spec), "status": status}


def uses(*claims: str) -> list[Object]:
    return [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]


def claim(name: str, volume: str = "", *, size: str = "1Gi", **fields: Any) -> Object:
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if volume else {}
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "local",
    }
    if volume:
        spec["volumeName"] = volume
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", **bound},
        "spec": spec,
        "status": {"phase": "Bound" if volume else "Pending"},
        **fields,
    }


def volume(
    name: str, *, size: str = "1Gi", terms: list[Object] | None = None, **spec: Any
) -> Object:
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": "local",
            **affinity,
            **spec,
        },
        "status": {"phase": "Available"},
    }


def on_zone(*zones: str) -> list[Object]:
    return [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}]


def csi(name: str) -> Object:
    return volume(name, csi={"driver": "csi.example", "volumeHandle": f"h-{name}"})


def limit(node_name: str, count: int) -> Object:
    driver = {"name": "csi.example", "nodeID": node_name, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": node_name},
        "spec": {"drivers": [{**driver, "topologyKeys": []}]},
    }


def attachment(volume_name: str, node_name: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"at-{volume_name}"},
        "spec": {
            "attacher": "csi.example",
            "nodeName": node_name,
            "source": {"persistentVolumeName": volume_name},
        },
    }


LOCAL = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}
EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
]
PINNED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
            ]
        }
    }
}


REPLICAS = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
}


def owned(api_version: str) -> Object:
    """The owner references of a pod of REPLICAS, if that is its API version."""
    owner = {"apiVersion": api_version, "kind": "ReplicaSet", "name": "web", "uid": "uid-web"}
    return {"ownerReferences": [{**owner, "controller": True}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """One pod to judge; `verdicts` maps a node to ok, or to the plugin and reason reported.

    `winners` are the nodes with the highest score, where the scores made the difference.
    """

    name: str
    objects: list[Object]
    judged: Object
    verdicts: dict[str, str]
    winners: tuple[str, ...] = ()

    @property
    def scenario(self) -> Object:
        """As the oracle takes it."""
        return {"name": self.name, "objects": self.objects, "judge": [self.judged]}


TWO = [node("n1", "a"), node("n2", "b")]
REGRESSIONS = (
    Regression(name="a volume that is gone refuses the pod before any node",
        objects=[*TWO, LOCAL, claim("d", "gone")], judged=pod("new", volumes=uses("d")),
        verdicts=dict.fromkeys(("n1", "n2"), 'VolumeZone: persistentvolume "gone" not found')),
    Regression(name="node affinity of a volume ignores matchFields",
        objects=[*TWO, claim("d", "v"), volume("v",
            terms=[{"matchFields": [{"key": "metadata.name", "operator": "In",
            "values": ["n1"]}]}])], judged=pod("new", volumes=uses("d")),
        verdicts={"n1": "ok", "n2": "ok"}),
    Regression(name="a claim that says Bound without the annotation is not bound",
        objects=[*TWO, volume("v"), {**claim("d", "v"), "metadata": {"name": "d",
            "namespace": "shop"}}], judged=pod("new", volumes=uses("d")),
        verdicts=dict.fromkeys(("n1", "n2"), NOT_BOUND)),
    Regression(name="an unbound claim is what is reported, not what the node has against the pod",
        objects=[*TWO, claim("d")], judged=pod("new", cpu="100", volumes=uses("d")),
        verdicts=dict.fromkeys(("n1", "n2"), NOT_BOUND)),
    Regression(name="the smaller claim chooses its volume first",
        objects=[*TWO, LOCAL, claim("big", size="5Gi"), claim("small", size="1Gi"), volume("v5",
            size="5Gi", terms=on_zone("a")), volume("v6", size="6Gi", terms=on_zone("a", "b")),
            volume("v1", size="1Gi", terms=on_zone("b"))],
        judged=pod("new", volumes=uses("big", "small")), verdicts={"n1": "ok", "n2": "ok"}),
    Regression(name="a volume kept for the claim is the only one that it may take",
        objects=[*TWO, LOCAL, claim("d"), volume("free"), volume("kept", terms=on_zone("a"),
            claimRef={"namespace": "shop", "name": "d", "uid": "uid-d"})],
        judged=pod("new", volumes=uses("d")), verdicts={"n1": "ok", "n2": NO_MATCH}),
    Regression(name="a volume kept for an earlier claim of that name is nobody's",
        objects=[*TWO, LOCAL, claim("d"), volume("kept", claimRef={"namespace": "shop",
            "name": "d", "uid": "uid-old"})], judged=pod("new", volumes=uses("d")),
        verdicts=dict.fromkeys(("n1", "n2"), NO_MATCH)),
    Regression(name="a volume attached without a pod counts twice",
        objects=[*TWO, claim("d", "v"), csi("v"), limit("n1", 1), attachment("v", "n1")],
        judged=pod("new", volumes=uses("d")),
        verdicts={"n1": "NodeVolumeLimits: node(s) exceed max volume count", "n2": "ok"}),
    Regression(name="an ephemeral volume needs a claim of its own",
        objects=[*TWO, LOCAL, claim("new-x", "v"), volume("v")],
        judged=pod("new", volumes=[{"name": "x",
            "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]),
        verdicts=dict.fromkeys(("n1", "n2"),
            "VolumeBinding: PVC shop/new-x was not created for pod shop/new (pod is not owner)")),
    Regression(name="room is kept for a nominated pod",
        objects=[*TWO, nominated("waiting", "n1", cpu="4")], judged=pod("new"),
        verdicts={"n1": "NodeResourcesFit: Insufficient cpu", "n2": "ok"}),
    Regression(name="no room is kept for a nominated pod of lower priority",
        objects=[*TWO, nominated("waiting", "n1", cpu="4", priority=-1)], judged=pod("new"),
        verdicts={"n1": "ok", "n2": "ok"}),
    Regression(name="anti-affinity of a nominated pod is not asked where nobody else has any",
        objects=[*TWO, nominated("waiting", "n1", affinity=APART)], judged=pod("new"),
        verdicts={"n1": "ok", "n2": "ok"}),
    Regression(name="anti-affinity of a nominated pod is asked where a placed pod has some",
        objects=[*TWO, pod("there", "n2", affinity=APART), nominated("waiting", "n1",
            affinity=APART)], judged=pod("new"), verdicts={"n1": REPELLED, "n2": REPELLED}),
    Regression(name="an empty spread selector counts nominated pods alone",
        objects=[*TWO, pod("there", "n2"), nominated("waiting", "n1")],
        judged=pod("new", topologySpreadConstraints=EVEN),
        verdicts={"n1": "PodTopologySpread: node(s) didn't match pod topology spread constraints",
            "n2": "ok"}),
    Regression(name="a pin by name is reported before a nominated pod is looked at",
        objects=[*TWO, nominated("waiting", "n1", cpu="4")], judged=pod("new", affinity=PINNED),
        verdicts={"n1": "NodeAffinity: node(s) didn't satisfy plugin(s) [NodeAffinity]",
            "n2": "ok"}),
    Regression(name="a volume whose node affinity has no term is reached from nowhere",
        objects=[*TWO, claim("d", "v"), volume("v", nodeAffinity={"required": {}})],
        judged=pod("new", volumes=uses("d")), verdicts=dict.fromkeys(("n1", "n2"), NOT_REACHED)),
    Regression(name="the annotation of old names the class of a claim",
        objects=[*TWO, LOCAL, {**claim("d"), "metadata": {"name": "d", "namespace": "shop",
            "annotations": {"volume.beta.kubernetes.io/storage-class": "other"}}}, volume("v")],
        judged=pod("new", volumes=uses("d")), verdicts=dict.fromkeys(("n1", "n2"), NOT_BOUND)),
    Regression(name="a volume of another VolumeAttributesClass is not the claim's",
        objects=[*TWO, LOCAL, claim("d"), volume("v", volumeAttributesClassName="fast")],
        judged=pod("new", volumes=uses("d")), verdicts=dict.fromkeys(("n1", "n2"), NO_MATCH)),
    Regression(name="an amount that no int64 holds is none", objects=TWO,
        judged=pod("new", cpu="2E"), verdicts={"n1": "ok", "n2": "ok"}),
    Regression(name="a ReplicaSet of another API group does not spread its pods",
        objects=[node("n1", cpu="40"), node("n2"), pod("there", "n1"), REPLICAS],
        judged={**pod("new"), "metadata": {**pod("new")["metadata"], **owned("example.com/v1")}},
        verdicts={"n1": "ok", "n2": "ok"}, winners=("n1",)),
    Regression(name="a ReplicaSet spreads its pods",
        objects=[node("n1", cpu="40"), node("n2"), pod("there", "n1"), REPLICAS],
        judged={**pod("new"), "metadata": {**pod("new")["metadata"], **owned("apps/v1")}},
        verdicts={"n1": "ok", "n2": "ok"}, winners=("n2",)),
)  # fmt: skip
