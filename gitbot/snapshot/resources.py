"""The API resources of the kinds in a snapshot: group, versions, path, scope, rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One API resource.

    `versions` are those that gitbot reads, newest first. `required` is False if a cluster need not
    serve it (an optional API group), `needed` is False if an account need not have the right to
    list it; its kind then has no objects. The group of a `shared` one has kinds of other programs.
    """

    kind: str
    group: str  # "" for the core group
    versions: tuple[str, ...]
    plural: str
    namespaced: bool
    required: bool = True
    needed: bool = True
    shared: bool = False

    @property
    def api_version(self) -> str:
        """`group/version` of the newest version that gitbot reads."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]

    def path(self, version: str = "", namespace: str = "", name: str = "") -> str:
        version = version or self.versions[0]
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}" + (f"/{name}" if name else "")

    def rbac_rule(self, verb: str) -> str:
        """The RBAC rule that grants a verb on it, as one line of YAML."""
        return (
            f'{{apiGroups: ["{self.group}"], resources: ["{self.plural}"], verbs: ["{verb}"]}}'
            f" in a {'ClusterRole or Role' if self.namespaced else 'ClusterRole'}"
        )


_POLICY_GROUP = "policy"
_STORAGE = "storage.k8s.io"
_KUBEVIRT = "kubevirt.io"
_TYPES = "instancetype.kubevirt.io"


def _resource(
    kind: str,
    group: str,
    versions: str,
    plural: str,
    *,
    cluster_scoped: bool = False,
    required: bool = True,
    needed: bool = True,
    shared: bool = False,
) -> Resource:
    return Resource(
        kind=kind,
        group=group,
        versions=tuple(versions.split("|")),
        plural=plural,
        namespaced=not cluster_scoped,
        required=required,
        needed=needed,
        shared=shared,
    )


def _optional(
    kind: str,
    group: str,
    version: str,
    plural: str,
    *,
    cluster: bool = False,
    shared: bool = False,
) -> Resource:
    """A kind of other programs, or without which starts of some VMs are not known."""
    return _resource(
        kind,
        group,
        version,
        plural,
        cluster_scoped=cluster,
        required=False,
        needed=False,
        shared=shared,
    )


def _type(kind: str) -> Resource:
    return _optional(kind, _TYPES, "v1beta1", f"{kind.lower()}s", cluster="Cluster" in kind)


_RESOURCES = (
    _optional("CSIDriver", _STORAGE, "v1", "csidrivers", cluster=True),
    _resource("CSINode", _STORAGE, "v1", "csinodes", cluster_scoped=True),
    _optional("CSIStorageCapacity", _STORAGE, "v1", "csistoragecapacities"),
    _resource("ConfigMap", "", "v1", "configmaps"),
    _optional("ControllerRevision", "apps", "v1", "controllerrevisions"),
    _optional(
        "HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers", shared=True
    ),
    _optional("KubeDescheduler", "operator.openshift.io", "v1", "kubedeschedulers", shared=True),
    _resource("KubeVirt", _KUBEVIRT, "v1", "kubevirts"),
    _resource(
        "MigrationPolicy",
        "migrations.kubevirt.io",
        "v1alpha1",
        "migrationpolicies",
        cluster_scoped=True,
        required=False,
        needed=False,  # without it, only estimates are worse
    ),
    _resource("Namespace", "", "v1", "namespaces", cluster_scoped=True),
    _optional(
        "NetworkAttachmentDefinition",
        "k8s.cni.cncf.io",
        "v1",
        "network-attachment-definitions",
        shared=True,
    ),
    _resource("Node", "", "v1", "nodes", cluster_scoped=True),
    _resource("PersistentVolume", "", "v1", "persistentvolumes", cluster_scoped=True),
    _resource("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"),
    _resource("Pod", "", "v1", "pods"),
    _resource("PodDisruptionBudget", _POLICY_GROUP, "v1", "poddisruptionbudgets"),
    _resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", cluster_scoped=True),
    _resource("ReplicaSet", "apps", "v1", "replicasets"),
    _resource("ReplicationController", "", "v1", "replicationcontrollers"),
    _resource("ResourceQuota", "", "v1", "resourcequotas"),
    _resource("RuntimeClass", "node.k8s.io", "v1", "runtimeclasses", cluster_scoped=True),
    _optional("Scheduler", "config.openshift.io", "v1", "schedulers", cluster=True, shared=True),
    _resource("Service", "", "v1", "services"),
    _resource("StatefulSet", "apps", "v1", "statefulsets"),
    _resource("StorageClass", _STORAGE, "v1", "storageclasses", cluster_scoped=True),
    _optional("StorageProfile", "cdi.kubevirt.io", "v1beta1", "storageprofiles", cluster=True),
    _resource("VirtualMachine", _KUBEVIRT, "v1", "virtualmachines"),
    _type("VirtualMachineClusterInstancetype"),
    _type("VirtualMachineClusterPreference"),
    _resource("VirtualMachineInstance", _KUBEVIRT, "v1", "virtualmachineinstances"),
    _resource(
        "VirtualMachineInstanceMigration",
        _KUBEVIRT,
        "v1",
        "virtualmachineinstancemigrations",
    ),
    _resource(
        "VirtualMachineInstanceReplicaSet",
        _KUBEVIRT,
        "v1",
        "virtualmachineinstancereplicasets",
    ),
    _type("VirtualMachineInstancetype"),
    _resource(
        "VirtualMachinePool",
        "pool.kubevirt.io",
        "v1beta1|v1alpha1",
        "virtualmachinepools",
        required=False,
    ),
    _type("VirtualMachinePreference"),
    _resource("VolumeAttachment", _STORAGE, "v1", "volumeattachments", cluster_scoped=True),
)

RESOURCES: Mapping[str, Resource] = {resource.kind: resource for resource in _RESOURCES}
"""Every kind of `gitbot.model.cluster.cluster.KINDS`."""

EVENTS = _resource("Event", "", "v1", "events")
"""Read for one object at a time; never part of a snapshot."""

DUMP = "kubectl get {} -A -o yaml".format(
    ",".join(each.plural for each in _RESOURCES if each.required and each.kind != "ConfigMap")
)
"""The command that prints every kind that a snapshot of plain objects needs."""

LISTED = tuple(resource for resource in _RESOURCES if resource.kind != "ConfigMap")
"""The resources that gitbot lists; it reads the hold flag separately, before every effect."""
