"""The small cluster that the Cluster port's contract is tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitbot.kubernetes.objects import at, condition_of
from gitbot.simulation import building
from gitbot.simulation.building import ZONE
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.controlplane.waiting import eventually

if TYPE_CHECKING:
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection

START = 1_796_590_800  # 2026-12-06T21:00:00Z
CANARY = "c4n4ry"
NODES = {"n1": "a", "n2": "b"}
PODS = ("web", "job")


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


def running_pod(name: str, node: str) -> dict[str, Any]:
    """A pod of namespace apps."""
    return _pod(name, node, "Running")


def _instance(name: str, node: str) -> dict[str, Any]:
    instance = _object(
        "VirtualMachineInstance",
        name,
        "apps",
        spec={
            "domain": {
                "devices": {"disks": [{"name": "init", "disk": {"bus": "virtio"}}]},
                "memory": {"guest": "1Gi"},
            },
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
            *(_node(name, zone) for name, zone in NODES.items()),
            _object("KubeVirt", "kubevirt", "kubevirt", spec={"configuration": {}}),
            _pod("web", "n1", "Running"),
            _pod("job", "n1", "Succeeded"),
            _instance("db-1", "n1"),
        ]
    )
    return cluster


def real_cluster(admin: Connection, kubelets: Kubelets, namespace: str) -> None:
    """The same on a real API server, where kubelets and KubeVirt make the statuses."""
    kubelets.add(*(building.node(name, labels={ZONE: zone}) for name, zone in NODES.items()))
    for made in (_pod("web", "n1", "Running"), _pod("job", "n1", "Running")):
        made["metadata"]["namespace"] = namespace
        admin.request("POST", f"/api/v1/namespaces/{namespace}/pods", made)
    instance = _instance("db-1", "n1")
    instance["metadata"] = {"name": "db-1", "namespace": namespace, "labels": {"tier": "db"}}
    instance["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances"
    admin.request("POST", path, {**instance, "status": {}})

    def settled() -> bool:
        vmi = admin.request("GET", f"{path}/db-1")
        pods = [
            admin.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}") for name in PODS
        ]
        return all(at(each, "status", "phase") == "Running" for each in (vmi, *pods)) and bool(
            condition_of(vmi, "LiveMigratable")
        )

    eventually(settled)
    kubelets.finish(namespace, "job", "Succeeded")


def on_call(user: str) -> dict[str, Any]:
    """The right to set the stop flag, bound to a person."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": user, "namespace": "gitbot"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "gitbot-holder"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def migration(name: str, instance: str = "db-1", namespace: str = "apps") -> dict[str, Any]:
    """A VMIM as gitbot creates it."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gitbot"},
            "annotations": {"placement.gitbot.dev/request": "request/apps/one"},
        },
        "spec": {
            "vmiName": instance,
            "addedNodeSelector": {"kubernetes.io/hostname": "n2"},
        },
    }
