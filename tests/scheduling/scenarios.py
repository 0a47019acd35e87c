"""One random scenario a seed: a cluster as plain objects, and pods to judge.

Axes: topology keys with holes, namespaces with labels, terminating and finished pods, cordoned
and tainted nodes, self-matching selectors, nil and empty selectors, sidecar order, overhead,
resize status, pod-level and extended resources, volumes and their limits, host ports, malformed
terms, images, nominated pods, and KubeVirt's launcher pods with their migration targets.
"""

from typing import Any

from tests.scheduling import pods
from tests.scheduling.dice import Dice
from tests.scheduling.nodes import node
from tests.scheduling.selectors import APPS, NAMESPACES
from tests.scheduling.storage import storage

Object = dict[str, Any]


def scenario(seed: int) -> Object:
    """`name`, `objects`, `judge` and `admit`, as the oracle takes them."""
    dice = Dice(seed)
    count = _size(dice)
    calm = dice.chance(50)
    nodes = [node(dice, number, calm=calm) for number in range(count)]
    names = [item["metadata"]["name"] for item in nodes]
    disks = storage(dice, names)
    context = {
        "nodes": names,
        "disks": disks,
        "affinity": dice.pick((0, 15, 40)),
        "node_affinity": dice.pick((0, 0, 10, 30)),
        "rigid": dice.pick((0, 10, 30)),
        "spread": dice.pick((0, 15, 70)),
        "volumes": dice.pick((0, 15, 50)),
        "priority": dice.pick((0, 0, 40)),
    }
    placed = _placed(dice, context, count)
    judged = _judged(dice, context, placed)
    waiting = _nominated(dice, context) if dice.chance(15) else []
    cluster = [*_namespaces(dice), *_owners(dice), _runtime_class(), *nodes, *disks.objects]
    objects = [*cluster, *placed, *waiting]
    return {"name": f"s{seed}", "admit": True, "objects": objects, "judge": judged}


def _size(dice: Dice) -> int:
    if dice.chance(1):
        return dice.number(100, 140)
    return dice.number(2, 6) if dice.chance(45) else dice.number(5, 24)


def _namespaces(dice: Dice) -> list[Object]:
    found: list[Object] = []
    for name in NAMESPACES:
        labels: dict[str, str] = {}
        if dice.chance(70):
            labels["env"] = dice.pick(("prod", "test"))
        if dice.chance(40):
            labels["owner"] = dice.pick(("prod", "test"))
        labels["kubernetes.io/metadata.name"] = name
        metadata: Object = {"name": name, "labels": labels}
        found.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return found


def _owners(dice: Dice) -> list[Object]:
    """Services and ReplicaSets: what the system's own spread constraints select by."""
    found: list[Object] = []
    for number in range(dice.number(0, 3)):
        metadata = {"name": f"svc-{number}", "namespace": dice.pick(NAMESPACES)}
        selector = {"app": dice.pick(APPS)} if dice.chance(85) else {}
        spec = {"selector": selector}
        found.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    for number in range(2):
        if dice.chance(60):
            metadata = {"name": f"rs-{number}", "namespace": dice.pick(NAMESPACES)}
            owner = {"selector": {"matchLabels": {"app": dice.pick(APPS)}}}
            found.append(
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": owner}
            )
    return found


def _runtime_class() -> Object:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "130m", "memory": "100Mi"}},
    }


def _placed(dice: Dice, context: Object, count: int) -> list[Object]:
    found = []
    for number in range(dice.number(0, min(4 * count, 60))):
        where = dice.pick(context["nodes"])
        if dice.chance(35):
            made = pods.launcher(dice, f"launcher-{number}", f"vm-{number}", context)
        else:
            made = pods.pod(dice, f"p-{number}", context)
        found.append(pods.placed_state(dice, made, where))
    return found


def _judged(dice: Dice, context: Object, placed: list[Object]) -> list[Object]:
    sources = [item for item in placed if pods.CREATED_BY in item["metadata"]["labels"]]
    found = []
    for number in range(dice.number(3, 6)):
        if sources and dice.chance(40):
            found.append(pods.target_of(dice.pick(sources), f"judged-{number}"))
        else:
            found.append(pods.pod(dice, f"judged-{number}", context))
    return found


def _nominated(dice: Dice, context: Object) -> list[Object]:
    """Pods that wait for room that preemption makes."""
    found = []
    for number in range(dice.number(1, 3)):
        waiting = pods.pod(dice, f"nominated-{number}", context)
        waiting["status"] = {"phase": "Pending", "nominatedNodeName": dice.pick(context["nodes"])}
        found.append(waiting)
    return found
