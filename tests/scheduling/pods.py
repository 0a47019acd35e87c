"""Random pods: containers, sidecars, pod-level and resized resources, ports, volumes, rules."""

from typing import Any

from tests.scheduling import selectors
from tests.scheduling.dice import Dice
from tests.scheduling.nodes import EXTENDED, HOSTNAME, IMAGES, REGION, TAINT_KEYS, ZONE, ZONES
from tests.scheduling.selectors import NAMESPACES, REQUIRED
from tests.scheduling.storage import Disks

Object = dict[str, Any]
CPU = ("100m", "250m", "333m", "500m", "1", "0.1", "100u", "0", "1500m")
MEMORY = ("64Mi", "128Mi", "200Mi", "512Mi", "1Gi", "100000001", "0.5Gi", "0", "100M", "1500m")
STORAGE = ("100Mi", "1Gi", "500M")
TEMPLATE: Object = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
}
CREATED_BY = "kubevirt.io/created-by"


def pod(dice: Dice, name: str, context: Object) -> Object:
    """A pod as somebody might send it. `context`: node names, claims by namespace, rates."""
    namespace = dice.pick(NAMESPACES)
    spec: Object = {"containers": [_container(dice, f"c{n}") for n in range(dice.number(1, 2))]}
    if dice.chance(30):
        spec["initContainers"] = [_initial(dice, f"i{n}") for n in range(dice.number(1, 3))]
    if dice.chance(10):
        spec["resources"] = _pod_level(dice)
    if dice.chance(8):
        spec["runtimeClassName"] = "kata"
    spec |= _rules(dice, context)
    disks: Disks = context["disks"]
    volumes = _volumes(dice, disks.claims.get(namespace, []), rate=context["volumes"])
    if dice.chance(context["volumes"] // 4):
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}})
        disks.add_scratch(dice, namespace, name)
    if volumes:
        spec["volumes"] = volumes
    if dice.chance(4):
        spec["hostNetwork"] = True
    metadata: Object = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    metadata["labels"] = selectors.labels(dice)
    if dice.chance(15):
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": dice.pick(("rs-0", "rs-1", "rs-gone")),
                "uid": "uid-rs",
                "controller": True,
            }
        ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def launcher(dice: Dice, name: str, vm: str, context: Object) -> Object:
    """A pod as KubeVirt makes one for a VM, with the VM's own rules."""
    namespace = dice.pick(NAMESPACES)
    requests = {"cpu": dice.pick(("100m", "200m", "1")), "memory": dice.pick(("300Mi", "1288Mi"))}
    devices = {name: "1" for name in EXTENDED[:2] if dice.chance(70)}
    requests |= devices | {"ephemeral-storage": "50M"}
    anti: list[Object] = []
    term = {"matchLabels": {"app": dice.pick(selectors.APPS)}}
    if dice.chance(60):
        extra: Object = {"mismatchLabelKeys": [CREATED_BY]} if dice.chance(40) else {}
        anti.append({"topologyKey": dice.pick((ZONE, HOSTNAME)), "labelSelector": term, **extra})
    spec: Object = {
        "containers": [
            {
                "name": "compute",
                "image": dice.pick(IMAGES) + ":v1",
                "resources": {"requests": requests, "limits": dict(devices)},
            }
        ],
        "nodeSelector": {"kubevirt.io/schedulable": "true"},
        "affinity": {"podAntiAffinity": {REQUIRED: anti}} if anti else {},
    }
    if dice.chance(40):
        spec["nodeSelector"]["cpu-model.node.kubevirt.io/Skylake"] = "true"
    if dice.chance(30):
        spec["topologySpreadConstraints"] = selectors.spread(dice, rate=100)
    if dice.chance(40):
        volumes = _volumes(dice, context["disks"].claims.get(namespace, []), rate=90)
        spec["volumes"] = volumes
    labels = {
        "kubevirt.io": "virt-launcher",
        CREATED_BY: f"uid-{vm}",
        "vm.kubevirt.io/name": vm,
        **selectors.labels(dice),
    }
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def target_of(source: Object, name: str) -> Object:
    """The pod that a migration of a launcher pod makes: apart from every pod of the same VM."""
    labels = {k: v for k, v in source["metadata"]["labels"].items() if k not in (ZONE, REGION)}
    own = {
        "topologyKey": HOSTNAME,
        "labelSelector": {
            "matchExpressions": [
                {"key": CREATED_BY, "operator": "In", "values": [labels[CREATED_BY]]}
            ]
        },
    }
    spec = {key: value for key, value in source["spec"].items() if key != "nodeName"}
    block = spec.get("affinity", {}).get("podAntiAffinity", {})
    terms = [*block.get(REQUIRED, []), own]
    spec["affinity"] = {**spec.get("affinity", {}), "podAntiAffinity": {**block, REQUIRED: terms}}
    metadata = {**source["metadata"], "name": name, "uid": f"uid-{name}", "labels": labels}
    metadata.pop("deletionTimestamp", None)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _rules(dice: Dice, context: Object) -> Object:
    found: Object = {}
    affinity = selectors.pod_affinity(dice, rate=context["affinity"])
    nodes = selectors.node_affinity(dice, context["nodes"], rate=context["node_affinity"])
    if nodes:
        affinity["nodeAffinity"] = nodes
    if affinity:
        found["affinity"] = affinity
    spread = selectors.spread(dice, rate=context["spread"])
    if spread:
        found["topologySpreadConstraints"] = spread
    if dice.chance(context["rigid"]):
        pairs = ((ZONE, ZONES), ("rack", ("r1", "r2", "")), ("kubernetes.io/arch", ("amd64",)))
        key, values = dice.pick(pairs)
        found["nodeSelector"] = {key: dice.pick(values)}
    if dice.chance(45):
        found["tolerations"] = dice.several(lambda: _toleration(dice), 1, 3)
    if dice.chance(context["priority"]):
        found["priority"] = dice.pick((0, 10, 1000))
    return found


def _toleration(dice: Dice) -> Object:
    if dice.chance(12):
        return {"operator": "Exists"}
    found: Object = {"key": dice.pick((*TAINT_KEYS, "node.kubernetes.io/unschedulable"))}
    if dice.chance(50):
        found["operator"] = "Exists"
    else:
        found["value"] = dice.pick(("db", "web", "5", ""))
        if dice.chance(50):
            found["operator"] = "Equal"
    if dice.chance(55):
        found["effect"] = dice.pick(("NoSchedule", "NoExecute", "PreferNoSchedule"))
        if found["effect"] == "NoExecute" and dice.chance(30):
            found["tolerationSeconds"] = 0
    return found


def _resources(dice: Dice) -> Object:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if dice.chance(75):
        requests["cpu"] = dice.pick(CPU)
    if dice.chance(75):
        requests["memory"] = dice.pick(MEMORY)
    if dice.chance(12):
        requests["ephemeral-storage"] = dice.pick(STORAGE)
    if dice.chance(20):
        name = dice.pick(EXTENDED)
        requests[name] = limits[name] = dice.pick(("1", "2", "0"))
    if dice.chance(6) and "cpu" in requests and "memory" in requests:
        requests["hugepages-2Mi"] = limits["hugepages-2Mi"] = dice.pick(("2Mi", "64Mi"))
    if dice.chance(12):
        limits["cpu"] = dice.pick(("2", "2500m"))
    if dice.chance(12):
        limits["memory"] = dice.pick(("1Gi", "3G"))
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def _container(dice: Dice, name: str) -> Object:
    found: Object = {"name": name, "image": dice.pick(IMAGES) + dice.pick(("", ":v1", ":v2"))}
    resources = _resources(dice)
    if resources:
        found["resources"] = resources
    if dice.chance(10):
        port: Object = {"containerPort": dice.pick((80, 443)), "hostPort": dice.pick((80, 443))}
        if dice.chance(40):
            port["hostIP"] = dice.pick(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
        if dice.chance(30):
            port["protocol"] = dice.pick(("UDP", "TCP"))
        found["ports"] = [port]
    return found


def _initial(dice: Dice, name: str) -> Object:
    found = _container(dice, name)
    if dice.chance(45):
        found["restartPolicy"] = "Always"
    return found


def _pod_level(dice: Dice) -> Object:
    requests = {"cpu": dice.pick(("1", "2", "3")), "memory": dice.pick(("2Gi", "4Gi", "8Gi"))}
    return {"requests": {key: requests[key] for key in dice.some(("cpu", "memory"), 1, 2)}}


def _volumes(dice: Dice, claims: list[str], *, rate: int) -> list[Object]:
    found: list[Object] = []
    if dice.chance(rate):
        for number, claim in enumerate(dice.some(claims, 1, 3)):
            source = {"claimName": claim if dice.chance(98) else "no-such-claim"}
            found.append({"name": f"v{number}", "persistentVolumeClaim": source})
    if dice.chance(rate // 6):
        found.append({"name": "inline", **_inline(dice)})
    if dice.chance(5):
        found.append({"name": "image", "image": {"reference": dice.pick(IMAGES) + ":v1"}})
    return found


def _inline(dice: Dice) -> Object:
    read_only = {"readOnly": True} if dice.chance(50) else {}
    return dice.pick(
        (
            {"gcePersistentDisk": {"pdName": dice.pick(("d1", "d2")), **read_only}},
            {
                "iscsi": {
                    "targetPortal": "p",
                    "lun": 0,
                    "iqn": dice.pick(("iqn.2026-11.example:1", "iqn.2026-11.example:2")),
                    **read_only,
                }
            },
            {"rbd": {"monitors": dice.some(("a", "b"), 1, 2), "image": "i", **read_only}},
        )
    )


def placed_state(dice: Dice, found: Object, node: str) -> Object:
    """The pod on a node: phase, deletion and status of a resize."""
    placed = {**found, "spec": {**found["spec"], "nodeName": node}}
    placed["status"] = {"phase": dice.pick(("Running",) * 8 + ("Pending", "Succeeded", "Failed"))}
    if dice.chance(8):
        placed["metadata"] = {
            **placed["metadata"],
            "deletionTimestamp": "2026-11-21T12:00:00Z",
            "deletionGracePeriodSeconds": 30,
        }
    if dice.chance(12):
        placed["status"] |= _resized(dice, found["spec"])
    return placed


def _resized(dice: Dice, spec: Object) -> Object:
    def status(container: Object) -> Object:
        entry: Object = {
            "name": container["name"],
            "ready": True,
            "restartCount": 0,
            "image": "i",
            "imageID": "",
        }
        amounts = {"cpu": dice.pick(CPU[:5]), "memory": dice.pick(MEMORY[:5])}
        if dice.chance(85):
            entry["resources"] = {"requests": amounts}
        if dice.chance(70):
            entry["allocatedResources"] = {"cpu": dice.pick(CPU[:5])}
        return entry

    found: Object = {"containerStatuses": [status(item) for item in spec["containers"]]}
    if spec.get("initContainers"):
        found["initContainerStatuses"] = [status(item) for item in spec["initContainers"]]
    if dice.chance(40):
        reason = dice.pick(("Infeasible", "Deferred"))
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        found["conditions"] = [condition]
    return found
