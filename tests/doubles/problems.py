"""Small builders of Kubernetes objects, and of placement problems over them.

The objects have the shape that the API server gives them, cut down to what placement reads. They
are made to be readable in a test: `node("n1", zone="a")`, `vm("db", node="n1")`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import Freeze, Goal, Limits, PlacementProblem, Request, Reservation
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects

NOW = 1_796_590_800  # 2026-12-06T21:00:00Z
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def named(name: str, namespace: str = "default") -> NamespacedName:
    """A namespaced name."""
    return NamespacedName(namespace=namespace, name=name)


def request(name: str = "move", **changes: Any) -> Request:
    """The request of a MigrationRequest in namespace default; `changes` are fields of Request."""
    intent = IntentRef(kind="MigrationRequest", namespace="default", name=name)
    fields: dict[str, Any] = {
        "id": MigrationRequestId(namespace="default", name=name),
        "intent": intent,
        **changes,
    }
    return Request(**fields)


def node(
    name: str,
    *,
    zone: str = "",
    labels: Mapping[str, str] | None = None,
    cpu: str = "64",
    memory: str = "256Gi",
    pods: str = "250",
    unschedulable: bool = False,
    taints: Sequence[Mapping[str, str]] = (),
    hostname: str = "",
) -> KubernetesObject:
    """A ready node on which KubeVirt may run VMs."""
    own = {
        HOSTNAME: hostname or name,
        "kubernetes.io/arch": "amd64",
        "kubevirt.io/schedulable": "true",
    }
    if zone:
        own[ZONE] = zone
    space = {
        "cpu": cpu,
        "memory": memory,
        "pods": pods,
        "ephemeral-storage": "1Ti",
        "devices.kubevirt.io/kvm": "1k",
        "devices.kubevirt.io/tun": "1k",
        "devices.kubevirt.io/vhost-net": "1k",
    }
    spec: dict[str, Any] = {}
    if unschedulable:
        spec["unschedulable"] = True
        taints = (*taints, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if taints:
        spec["taints"] = [dict(taint) for taint in taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {**own, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": space,
            "capacity": space,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def vm(
    name: str,
    *,
    on: str,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    memory: str = "1Gi",
    cpu: str = "100m",
    migratable: bool = True,
    why_not: str = "DisksNotLiveMigratable",
    node_selector: Mapping[str, str] | None = None,
    affinity: Mapping[str, Any] | None = None,
    topology_spread: Sequence[Mapping[str, Any]] = (),
) -> tuple[KubernetesObject, ...]:
    """A running VMI on node `on` with its launcher pod.

    The pod requests `cpu` and `memory` exactly, so that tests count in round numbers.
    """
    uid = f"vmi-{namespace}-{name}"
    marks = dict(labels or {})
    placement: dict[str, Any] = {}
    if node_selector:
        placement["nodeSelector"] = dict(node_selector)
    if affinity:
        placement["affinity"] = dict(affinity)
    if topology_spread:
        placement["topologySpreadConstraints"] = [dict(item) for item in topology_spread]
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": marks},
        "spec": {
            **placement,
            "evictionStrategy": "LiveMigrate",
            "domain": {
                "devices": {},
                "memory": {"guest": memory},
                "resources": {"requests": {"memory": memory, "cpu": cpu}},
            },
        },
        "status": {
            "phase": "Running",
            "nodeName": on,
            "selinuxContext": "none",
            "activePods": {f"pod-{namespace}-{name}": on},
            "conditions": [_migratable(migratable, why_not), {"type": "Ready", "status": "True"}],
        },
    }
    return (vmi, _launcher(vmi, cpu=cpu, memory=memory, placement=placement))


def _migratable(migratable: bool, why_not: str) -> Mapping[str, str]:
    if migratable:
        return {"type": "LiveMigratable", "status": "True"}
    return {
        "type": "LiveMigratable",
        "status": "False",
        "reason": why_not,
        "message": f"cannot migrate VMI: {why_not}",
    }


def _launcher(
    vmi: KubernetesObject, *, cpu: str, memory: str, placement: Mapping[str, Any]
) -> KubernetesObject:
    metadata = vmi["metadata"]
    name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
    labels, on = metadata["labels"], vmi["status"]["nodeName"]
    pod_labels = {
        **labels,
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": uid,
        "vm.kubevirt.io/name": name,
    }
    owner = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    selector = {"kubevirt.io/schedulable": "true", **placement.get("nodeSelector", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{name}",
            "namespace": namespace,
            "uid": f"pod-{namespace}-{name}",
            "labels": pod_labels,
            "annotations": {"kubevirt.io/domain": name},
            "ownerReferences": [owner],
        },
        "spec": {
            **placement,
            "nodeName": on,
            "nodeSelector": selector,
            "containers": [
                {
                    "name": "compute",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }
            ],
        },
        "status": {"phase": "Running"},
    }


def pod(
    name: str,
    *,
    on: str = "",
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    cpu: str = "100m",
    memory: str = "100Mi",
) -> KubernetesObject:
    """A plain pod, running where `on` names a node, else pending."""
    spec: dict[str, Any] = {
        "containers": [{"name": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]
    }
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"pod-{namespace}-{name}",
            "labels": dict(labels or {}),
        },
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def problem(
    objects: Iterable[KubernetesObject | tuple[KubernetesObject, ...]],
    *,
    goals: Sequence[Goal] = (),
    rules: Sequence[RuleConstraint] = (),
    limits: Limits | None = None,
    freezes: Sequence[Freeze] = (),
    reservations: Sequence[Reservation] = (),
    now: int = NOW,
) -> PlacementProblem:
    """A problem over plain objects; tuples, as `vm` gives them, are flattened."""
    flat: list[KubernetesObject] = []
    for item in objects:
        flat.extend(item) if isinstance(item, tuple) else flat.append(item)
    return PlacementProblem(
        cluster="test",
        now=now,
        snapshot=from_objects("test", tuple(flat), now),
        rules=tuple(rules),
        goals=tuple(goals),
        limits=limits or Limits(),
        freezes=tuple(freezes),
        reservations=tuple(reservations),
    )
