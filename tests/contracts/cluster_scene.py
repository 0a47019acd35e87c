"""The small cluster that the Cluster port's contract is tried on."""

from __future__ import annotations

from typing import Any

from gitbot.simulation.cluster import SimulatedCluster

START = 1_796_590_800  # 2026-12-06T21:00:00Z
CANARY = "c4n4ry"


def _object(kind: str, name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    version = "kubevirt.io/v1" if kind in {"KubeVirt", "VirtualMachineInstance"} else "v1"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _node(name: str, zone: str) -> dict[str, Any]:
    node = _object(
        "Node",
        name,
        status={
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    node["metadata"]["labels"] = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zone,
    }
    return node


def _pod(name: str, node: str, phase: str) -> dict[str, Any]:
    pod = _object(
        "Pod",
        name,
        "apps",
        spec={
            "nodeName": node,
            "containers": [
                {
                    "name": "compute",
                    "image": "registry.example/launcher:1",
                    "env": [{"name": "PASSWORD", "value": CANARY}],
                    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
                }
            ],
        },
        status={"phase": phase},
    )
    pod["metadata"]["annotations"] = {"example.org/note": CANARY}
    pod["metadata"]["labels"] = {"app": name}
    return pod


def _instance(name: str, node: str) -> dict[str, Any]:
    instance = _object(
        "VirtualMachineInstance",
        name,
        "apps",
        spec={
            "domain": {"devices": {}, "memory": {"guest": "1Gi"}},
            "volumes": [{"name": "init", "cloudInitNoCloud": {"userData": CANARY}}],
        },
        status={
            "phase": "Running",
            "nodeName": node,
            "conditions": [{"type": "LiveMigratable", "status": "True"}],
        },
    )
    instance["metadata"]["labels"] = {"tier": "db", "kubevirt.io/nodeName": node}
    return instance


def small_cluster() -> SimulatedCluster:
    """Two nodes in two zones, two pods (one finished), one VMI, KubeVirt."""
    cluster = SimulatedCluster(seed=1, start_time=START, name="prod")
    cluster.load(
        [
            _object("Namespace", "apps"),
            _object("Namespace", "gitbot"),
            _node("n1", "a"),
            _node("n2", "b"),
            _object("KubeVirt", "kubevirt", "kubevirt", spec={"configuration": {}}),
            _pod("web", "n1", "Running"),
            _pod("job", "n1", "Succeeded"),
            _instance("db-1", "n1"),
        ]
    )
    return cluster


def migration(name: str, instance: str = "db-1") -> dict[str, Any]:
    """A VMIM as gitbot creates it."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "name": name,
            "namespace": "apps",
            "labels": {"app.kubernetes.io/managed-by": "gitbot"},
            "annotations": {"placement.gitbot.dev/request": "request/apps/one"},
        },
        "spec": {
            "vmiName": instance,
            "addedNodeSelector": {"kubernetes.io/hostname": "n2"},
        },
    }
