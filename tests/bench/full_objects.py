"""The objects of `large_cluster`, as large as an API server sends them, and four more pods a node.

A node is about 23 kB of JSON, a launcher pod 12 kB, a VMI 7 kB. What is added (images, status,
managedFields, labels of CPU features) is what KubeVirt clusters show; no rule looks at it.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.bench import api_cluster
from tests.bench.large_cluster import VMS_ON_A_NODE, objects

PODS_ON_A_NODE = 10
_SYSTEM = {"apiVersion": "v1", "kind": "Namespace"}
_STARTED = "2025-11-01T00:00:00Z"
_FIELDS: dict[str, Any] = {
    f"f:{part}": {f"f:field-{number:02}": {} for number in range(90)}
    for part in ("spec", "status", "template", "volumes")
}
_MANAGED = [{"manager": "virt-controller", "operation": "Update", "fieldsV1": _FIELDS}]


def full_objects(nodes: int) -> Iterator[dict[str, Any]]:
    """All objects of a cluster of that many nodes."""
    names: list[str] = []
    draw = random.Random(2)
    pod, node = api_cluster.filled("pod", draw), api_cluster.filled("node", draw)
    yield {**_SYSTEM, "metadata": {"name": "kube-system", "uid": "of-the-cluster"}}
    for obj in objects(nodes):
        match obj["kind"]:
            case "Node":
                names.append(obj["metadata"]["name"])
                yield _node(obj, node)
            case "Pod":
                yield _launcher(obj, pod)
            case "VirtualMachine" | "VirtualMachineInstance":
                yield {**obj, "metadata": {**obj["metadata"], **_made(_MANAGED)}}
            case _:
                yield obj
    for name in names:
        yield from (_agent(name, number, pod) for number in range(PODS_ON_A_NODE - VMS_ON_A_NODE))


def _made(managed: Any) -> dict[str, Any]:
    return {"creationTimestamp": _STARTED, "managedFields": managed}


def _node(obj: dict[str, Any], large: dict[str, Any]) -> dict[str, Any]:
    labels = {**large["metadata"]["labels"], **obj["metadata"]["labels"]}
    metadata = {**obj["metadata"], **_made(large["metadata"]["managedFields"]), "labels": labels}
    return {
        **obj,
        "metadata": {**metadata, "uid": f"uid-{obj['metadata']['name']}"},
        "status": {**obj["status"], "images": large["status"]["images"]},
    }


def _launcher(obj: dict[str, Any], large: dict[str, Any]) -> dict[str, Any]:
    annotations = {**large["metadata"]["annotations"], **obj["metadata"].get("annotations", {})}
    made = _made(large["metadata"]["managedFields"] + _MANAGED)
    metadata = {**obj["metadata"], **made, "annotations": annotations}
    return {**obj, "metadata": metadata, "status": {**large["status"], **obj["status"]}}


def _agent(node: str, number: int, large: dict[str, Any]) -> dict[str, Any]:
    """A pod of a DaemonSet."""
    made = _made(large["metadata"]["managedFields"])
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": f"agent-{number}"}
    requests = {"cpu": "50m", "memory": "64Mi"}
    container = {"name": "agent", "image": "agent", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"agent-{number}-{node}",
            "namespace": "agents",
            "uid": f"agent-{number}-{node}",
            "labels": {"app": f"agent-{number}"},
            "ownerReferences": [{**owner, "uid": f"agent-{number}", "controller": True}],
            **made,
        },
        "spec": {
            "nodeName": node,
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
        },
        "status": {"phase": "Running", "conditions": large["status"]["conditions"]},
    }


def sizes(nodes: int) -> dict[str, int]:
    """Bytes of one object by kind, the middle one."""
    found: dict[str, list[int]] = {}
    for obj in full_objects(nodes):
        found.setdefault(obj["kind"], []).append(len(json.dumps(obj, separators=(",", ":"))))
    return {kind: sorted(lengths)[len(lengths) // 2] for kind, lengths in found.items()}
