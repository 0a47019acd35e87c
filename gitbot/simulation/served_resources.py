"""The registry of resources that the simulated API server serves.

Names, scopes, short names and status subresources are Kubernetes' and KubeVirt's own
(Kubernetes API reference; KubeVirt, pkg/virt-operator/resource/generate/components/crds).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_COUNTED = frozenset(
    {
        "CustomResourceDefinition",
        "DaemonSet",
        "Deployment",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "Pod",
        "PodDisruptionBudget",
        "PriorityClass",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    }
)
"""Built-in kinds that have a generation (kube-apiserver); custom ones all have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResource:
    """One resource type. `status` says whether it has a status subresource."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def counted(self) -> bool:
        """Whether the API server counts `metadata.generation` of this resource."""
        return self.custom or self.kind in _COUNTED

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def qualified(self) -> str:
        """`plural.group` as in messages; only the plural in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _built_in(
    kind: str,
    plural: str,
    *short: str,
    group: str = "",
    namespaced: bool = True,
    status: bool = False,
    categories: tuple[str, ...] = (),
) -> ServedResource:
    return ServedResource(
        kind=kind,
        plural=plural,
        group=group,
        namespaced=namespaced,
        status=status,
        short_names=short,
        categories=categories,
    )


def _kubevirt(kind: str, *short: str, status: bool = True) -> ServedResource:
    return ServedResource(
        kind=kind,
        plural=f"{kind.lower()}s",
        group="kubevirt.io",
        short_names=short,
        categories=("all",),
        status=status,
        custom=True,
    )


RESOURCES: tuple[ServedResource, ...] = (
    _built_in("ConfigMap", "configmaps", "cm"),
    _built_in("Event", "events", "ev"),
    _built_in("LimitRange", "limitranges", "limits"),
    _built_in("Namespace", "namespaces", "ns", namespaced=False, status=True),
    _built_in("Node", "nodes", "no", namespaced=False, status=True),
    _built_in("PersistentVolume", "persistentvolumes", "pv", namespaced=False, status=True),
    _built_in("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", status=True),
    _built_in("Pod", "pods", "po", status=True, categories=("all",)),
    _built_in("ReplicationController", "replicationcontrollers", "rc", status=True),
    _built_in("ResourceQuota", "resourcequotas", "quota", status=True),
    _built_in("Service", "services", "svc", status=True, categories=("all",)),
    _built_in("ServiceAccount", "serviceaccounts", "sa"),
    _built_in(
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        group="admissionregistration.k8s.io",
        namespaced=False,
    ),
    _built_in(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        group="admissionregistration.k8s.io",
        namespaced=False,
    ),
    _built_in(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd",
        "crds",
        group="apiextensions.k8s.io",
        namespaced=False,
        status=True,
    ),
    _built_in("DaemonSet", "daemonsets", "ds", group="apps", status=True),
    _built_in(
        "Deployment", "deployments", "deploy", group="apps", status=True, categories=("all",)
    ),
    _built_in("ReplicaSet", "replicasets", "rs", group="apps", status=True, categories=("all",)),
    _built_in("ControllerRevision", "controllerrevisions", group="apps"),
    _built_in("StatefulSet", "statefulsets", "sts", group="apps", status=True),
    _built_in("Lease", "leases", group="coordination.k8s.io"),
    _kubevirt("KubeVirt", "kv", "kvs"),
    _kubevirt("VirtualMachine", "vm", "vms"),
    _kubevirt("VirtualMachineInstance", "vmi", "vmis", status=False),
    _kubevirt("VirtualMachineInstanceMigration", "vmim", "vmims"),
    _kubevirt("VirtualMachineInstanceReplicaSet", "vmirs", "vmirss"),
    ServedResource(
        kind="MigrationPolicy",
        plural="migrationpolicies",
        group="migrations.kubevirt.io",
        version="v1alpha1",
        namespaced=False,
        status=True,
        custom=True,
    ),
    _built_in("RuntimeClass", "runtimeclasses", group="node.k8s.io", namespaced=False),
    _built_in("PodDisruptionBudget", "poddisruptionbudgets", "pdb", group="policy", status=True),
    ServedResource(
        kind="VirtualMachinePool",
        plural="virtualmachinepools",
        group="pool.kubevirt.io",
        version="v1beta1",
        short_names=("vmpool", "vmpools"),
        categories=("all",),
        status=True,
        custom=True,
    ),
    _built_in(
        "PriorityClass", "priorityclasses", "pc", group="scheduling.k8s.io", namespaced=False
    ),
    _built_in("CSIDriver", "csidrivers", group="storage.k8s.io", namespaced=False),
    _built_in("CSINode", "csinodes", group="storage.k8s.io", namespaced=False),
    _built_in("CSIStorageCapacity", "csistoragecapacities", group="storage.k8s.io"),
    _built_in("StorageClass", "storageclasses", "sc", group="storage.k8s.io", namespaced=False),
    _built_in(
        "VolumeAttachment",
        "volumeattachments",
        group="storage.k8s.io",
        namespaced=False,
        status=True,
    ),
)

BY_KIND: Mapping[str, ServedResource] = {resource.kind: resource for resource in RESOURCES}
BY_PATH: Mapping[tuple[str, str, str], ServedResource] = {
    (resource.group, resource.version, resource.plural): resource for resource in RESOURCES
}
