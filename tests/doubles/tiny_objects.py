"""Objects of the smallest clusters, cut down to what the executor reads."""

from collections.abc import Mapping
from typing import Any

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def tiny_node(name: str, zone: str = "east", **spec: Any) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
        "spec": spec,
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"bootID": f"boot-{name}"},
        },
    }


def tiny_instance(name: str, on: str, **status: Any) -> dict[str, Any]:
    return {
        "kind": "VirtualMachineInstance",
        "metadata": {"namespace": "db", "name": name, "uid": f"uid-{name}"},
        "spec": {"domain": {}},
        "status": {"nodeName": on, "phase": "Running", **status},
    }


def tiny_migration(
    name: str,
    spec: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    uid: str,
    phase: str = "Pending",
    **status: Any,
) -> dict[str, Any]:
    return {
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {**metadata, "namespace": "db", "name": name, "uid": uid},
        "spec": dict(spec),
        "status": {"phase": phase, **status},
    }
