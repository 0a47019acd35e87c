"""The registry of resources that the simulated API server serves.

Names, scopes, short names and status subresources are Kubernetes' and KubeVirt's own
(Kubernetes 1.36 API reference; KubeVirt 1.9, pkg/virt-operator/resource/generate/components/crds).
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
"""Built-in kinds that have a generation (kube-apiserver 1.36); custom ones all have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
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
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def counted(self) -> bool:
        """Whether the API server counts `metadata.generation` of this resource."""
        return self.custom or self.kind in _COUNTED

    @property
    def singular(self) -> str:
        """The singular name that kubectl accepts."""
        return self.kind.lower()

    @property
    def qualified(self) -> str:
        """`plural.group` as messages name it; the plural alone in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _core(kind: str, plural: str, *short: str, namespaced: bool = True, status: bool = False,
          categories: tuple[str, ...] = ()) -> Resource:  # fmt: skip
    return Resource(
        kind=kind,
        plural=plural,
        namespaced=namespaced,
        status=status,
        short_names=short,
        categories=categories,
    )


def _kubevirt(kind: str, *short: str, status: bool = True) -> Resource:
    return Resource(
        kind=kind,
        plural=f"{kind.lower()}s",
        group="kubevirt.io",
        short_names=short,
        categories=("all",),
        status=status,
        custom=True,
    )


RESOURCES: tuple[Resource, ...] = (
    _core("ConfigMap", "configmaps", "cm"),
    _core("Event", "events", "ev"),
    _core("LimitRange", "limitranges", "limits"),
    _core("Namespace", "namespaces", "ns", namespaced=False, status=True),
    _core("Node", "nodes", "no", namespaced=False, status=True),
    _core("PersistentVolume", "persistentvolumes", "pv", namespaced=False, status=True),
    _core("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", status=True),
    _core("Pod", "pods", "po", status=True, categories=("all",)),
    _core("ReplicationController", "replicationcontrollers", "rc", status=True),
    _core("ResourceQuota", "resourcequotas", "quota", status=True),
    _core("Service", "services", "svc", status=True, categories=("all",)),
    _core("ServiceAccount", "serviceaccounts", "sa"),
    Resource(
        kind="MutatingAdmissionPolicy",
        plural="mutatingadmissionpolicies",
        group="admissionregistration.k8s.io",
        namespaced=False,
    ),
    Resource(
        kind="MutatingAdmissionPolicyBinding",
        plural="mutatingadmissionpolicybindings",
        group="admissionregistration.k8s.io",
        namespaced=False,
    ),
    Resource(
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        group="apiextensions.k8s.io",
        namespaced=False,
        short_names=("crd", "crds"),
        status=True,
    ),
    Resource(kind="DaemonSet", plural="daemonsets", group="apps", short_names=("ds",), status=True),
    Resource(
        kind="Deployment",
        plural="deployments",
        group="apps",
        short_names=("deploy",),
        categories=("all",),
        status=True,
    ),
    Resource(
        kind="ReplicaSet",
        plural="replicasets",
        group="apps",
        short_names=("rs",),
        categories=("all",),
        status=True,
    ),
    Resource(
        kind="StatefulSet",
        plural="statefulsets",
        group="apps",
        short_names=("sts",),
        status=True,
    ),
    Resource(kind="Lease", plural="leases", group="coordination.k8s.io"),
    _kubevirt("KubeVirt", "kv", "kvs"),
    _kubevirt("VirtualMachine", "vm", "vms"),
    _kubevirt("VirtualMachineInstance", "vmi", "vmis", status=False),
    _kubevirt("VirtualMachineInstanceMigration", "vmim", "vmims"),
    _kubevirt("VirtualMachineInstanceReplicaSet", "vmirs", "vmirss"),
    Resource(
        kind="MigrationPolicy",
        plural="migrationpolicies",
        group="migrations.kubevirt.io",
        version="v1alpha1",
        namespaced=False,
        status=True,
        custom=True,
    ),
    Resource(kind="RuntimeClass", plural="runtimeclasses", group="node.k8s.io", namespaced=False),
    Resource(
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        group="policy",
        short_names=("pdb",),
        status=True,
    ),
    Resource(
        kind="VirtualMachinePool",
        plural="virtualmachinepools",
        group="pool.kubevirt.io",
        version="v1beta1",
        short_names=("vmpool", "vmpools"),
        categories=("all",),
        status=True,
        custom=True,
    ),
    Resource(
        kind="PriorityClass",
        plural="priorityclasses",
        group="scheduling.k8s.io",
        namespaced=False,
        short_names=("pc",),
    ),
    Resource(kind="CSINode", plural="csinodes", group="storage.k8s.io", namespaced=False),
    Resource(
        kind="StorageClass",
        plural="storageclasses",
        group="storage.k8s.io",
        namespaced=False,
        short_names=("sc",),
    ),
    Resource(
        kind="VolumeAttachment",
        plural="volumeattachments",
        group="storage.k8s.io",
        namespaced=False,
        status=True,
    ),
)

BY_KIND: Mapping[str, Resource] = {resource.kind: resource for resource in RESOURCES}
BY_PATH: Mapping[tuple[str, str, str], Resource] = {
    (resource.group, resource.version, resource.plural): resource for resource in RESOURCES
}
