"""Small clusters for the tests of this room: zones of nodes, VMs with VMI and launcher pod."""

from collections.abc import Mapping, Sequence
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
Object = dict[str, Any]


def vm_name(name: str, namespace: str = "customapp") -> NamespacedName:
    return NamespacedName(namespace=namespace, name=name)


def rule_ref(name: str = "apart", kind: str = "ZoneAntiAffinity") -> IntentRef:
    return IntentRef(kind=kind, namespace="customapp", name=name)


def node(
    name: str,
    zone: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    cpu: str = "16",
    memory: str = "64Gi",
    pods: int = 110,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    extra: Mapping[str, str] | None = None,
) -> Object:
    own = {HOSTNAME: name, "kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true"}
    own |= {ZONE: zone} if zone else {}
    devices = {f"devices.kubevirt.io/{item}": "1k" for item in ("kvm", "tun", "vhost-net")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {
            "allocatable": {
                "cpu": cpu,
                "memory": memory,
                "pods": str(pods),
                "ephemeral-storage": "100Gi",
                **devices,
                **(extra or {}),
            }
        },
    }


def pod(
    name: str,
    node_name: str = "",
    *,
    namespace: str = "customapp",
    labels: Mapping[str, str] | None = None,
    cpu: str = "100m",
    memory: str = "1Gi",
    spec: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    phase: str = "Running",
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": dict(labels or {}),
            **(metadata or {}),
        },
        "spec": {
            **({"nodeName": node_name} if node_name else {}),
            "containers": [
                {"name": "compute", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
            ],
            **(spec or {}),
        },
        "status": {"phase": phase},
    }


def machine(
    name: str,
    node_name: str,
    *,
    namespace: str = "customapp",
    labels: Mapping[str, str] | None = None,
    cpu: str = "400m",
    memory: str = "2Gi",
    spec: Mapping[str, Any] | None = None,
) -> list[Object]:
    """A running VM: its VMI and its launcher pod."""
    uid = f"uid-{name}"
    own = {"kubevirt.io/domain": name.rsplit("-", 1)[0], **(labels or {})}
    domain = {
        "cpu": {"cores": 4, "model": "Haswell-noTSX"},
        "memory": {"guest": "2Gi"},
        "devices": {},
    }
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": own},
        "spec": {"architecture": "amd64", "domain": domain, **(spec or {})},
        "status": {
            "phase": "Running",
            "nodeName": node_name,
            "selinuxContext": "none",
            "activePods": {f"uid-virt-launcher-{name}": node_name},
            "conditions": [{"type": "LiveMigratable", "status": "True"}],
        },
    }
    cpu_label = {"cpu-model.node.kubevirt.io/Haswell-noTSX": "true"}
    launcher = pod(
        f"virt-launcher-{name}",
        node_name,
        namespace=namespace,
        labels={**own, "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid},
        cpu=cpu,
        memory=memory,
        spec={"nodeSelector": cpu_label, **(spec or {})},
    )
    return [vmi, launcher]


CPU_LABEL = {
    "cpu-model.node.kubevirt.io/Haswell-noTSX": "true",
    "machine-type.node.kubevirt.io/q35": "true",
}


def snapshot(*objects: KubernetesObject) -> ClusterSnapshot:
    """A snapshot of these objects."""
    kinds: dict[str, list[KubernetesObject]] = {}
    for obj in objects:
        kinds.setdefault(obj["kind"], []).append(obj)
    return ClusterSnapshot(
        cluster="prod",
        taken_at=0,
        objects={kind: tuple(sorted(found, key=name_of)) for kind, found in kinds.items()},
        digest="sha256:test",
    )


def zones(*names: str, per_zone: int = 2, **options: Any) -> list[Object]:
    """Nodes `<zone>-1` ... in each zone, fit for the machines of this file."""
    labels = {**CPU_LABEL, **options.pop("labels", {})}
    return [
        node(f"{zone}-{number}", zone, labels=labels, **options)
        for zone in names
        for number in range(1, per_zone + 1)
    ]


def problem(*objects: KubernetesObject, **fields: Any) -> PlacementProblem:
    """A problem over these objects."""
    return PlacementProblem(cluster="prod", now=0, snapshot=snapshot(*objects), **fields)
