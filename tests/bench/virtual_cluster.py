"""A cluster of launcher pods as snapshot objects, made from a seed, for judging one more pod."""

import random
from typing import Any

from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import from_objects
from tests.bench.peers.plain_loop import Place, PlainLoop

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = 10
GROUP = 3  # VMs of one application, apart over zones and hosts
SIZES = ((100, 4), (200, 8), (400, 16), (800, 32))  # milli cpu and GiB


def node(number: int, draw: random.Random) -> dict[str, Any]:
    name = f"worker-{number:05}"
    labels = {
        HOST: name,
        ZONE: f"zone-{number % ZONES}",
        "kubernetes.io/arch": "amd64",
        "kubevirt.io/schedulable": "true",
        "cpu-vendor.node.kubevirt.io/Intel": "true",
        "pool": "virt" if draw.random() < 0.9 else "infra",
    }
    spec: dict[str, Any] = {}
    if draw.random() < 0.05:
        spec["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    if draw.random() < 0.01:
        spec["unschedulable"] = True
    amounts = {"cpu": "32", "memory": "160Gi", "pods": "110", "devices.kubevirt.io/kvm": "1k"}
    metadata = {"name": name, "uid": name, "labels": labels}
    return {"kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": amounts}}


def launcher(number: int, where: str, draw: random.Random) -> dict[str, Any]:
    """The launcher pod of one VM; where it is "", a pod that waits."""
    group = number // GROUP
    app, vm = f"app-{group:05}", f"vm-{number:06}"
    cpu, gib = draw.choice(SIZES)
    requests = {"cpu": f"{cpu}m", "memory": f"{gib}Gi", "devices.kubevirt.io/kvm": "1"}
    apart = [
        {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} for key in (ZONE, HOST)
    ]
    host_model = {
        "key": "node-labeller.kubevirt.io/obsolete-host-model",
        "operator": "DoesNotExist",
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spec: dict[str, Any] = {
        "nodeSelector": {"kubevirt.io/schedulable": "true", "pool": "virt"},
        "affinity": {
            "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [host_model]}]}},
            "podAntiAffinity": {required: apart},
        },
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        "containers": [
            {"name": "compute", "image": "launcher", "resources": {"requests": requests}}
        ],
        "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": vm}}],
    }
    if where:
        spec["nodeName"] = where
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{vm}",
            "namespace": f"team-{group % 50:02}",
            "uid": vm,
            "labels": {"app": app, "kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": vm},
        },
        "spec": spec,
        "status": {"phase": "Running" if where else "Pending"},
    }


def claim(number: int) -> list[dict[str, Any]]:
    """A claim bound to a shared volume that every zone reaches."""
    namespace, vm = f"team-{number // GROUP % 50:02}", f"vm-{number:06}"
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": vm, "namespace": namespace, "annotations": bound},
            "spec": {"volumeName": f"pv-{vm}", "accessModes": ["ReadWriteMany"]},
            "status": {"phase": "Bound"},
        },
        {
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{vm}"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "csi": {"driver": "csi.example", "volumeHandle": vm},
            },
        },
    ]


def cluster(
    nodes: int, vms: int, *, waiting: int, seed: int = 1, claims: bool = True
) -> ClusterSnapshot:
    """Nodes, placed VMs, and VMs that wait (the last of their application's three)."""
    draw = random.Random(seed)
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", **node(number, draw)} for number in range(nodes)
    ]
    step = max(1, vms // waiting) if waiting else vms + 1
    for number in range(vms):
        waits = number % step == step - 1
        where = "" if waits else f"worker-{draw.randrange(nodes):05}"
        pod = launcher(number, where, draw)
        objects.append(pod)
        if not claims:
            del pod["spec"]["volumes"]
            continue
        objects.extend({"apiVersion": "v1", **item} for item in claim(number))
    return from_objects("bench", objects, 0)


def pending(snapshot: ClusterSnapshot) -> list[Pod]:
    """The pods that wait, decoded."""
    return [Pod.from_object(obj) for obj in snapshot.of("Pod") if not at(obj, "spec", "nodeName")]


def plain_loop(snapshot: ClusterSnapshot) -> PlainLoop:
    """The peer's form of the same cluster."""
    world = World.of(snapshot)
    places = []
    for found in world.nodes:
        place = Place(node=found)
        for pod in world.pods_on(found.name):
            place.add(pod)
        places.append(place)
    volumes: dict[tuple[str, str], tuple[Any, Any]] = {}
    by_name = {name_of(obj).name: obj for obj in snapshot.of("PersistentVolume")}
    for obj in snapshot.of("PersistentVolumeClaim"):
        volume = by_name.get(at(obj, "spec", "volumeName", default=""), {})
        zone = labels_of(volume).get(ZONE)
        terms = at(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
        name = name_of(obj)
        volumes[name.namespace, name.name] = (
            None if zone is None else frozenset(zone.split("__")),
            None if terms is None else tuple(NodeMatcher.of(term) for term in terms),
        )
    return PlainLoop(places=places, namespaces=world.state.facts.namespaces, volumes=volumes)
