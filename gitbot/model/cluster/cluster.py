"""ClusterSnapshot: the state of one cluster at one moment, as minimal Kubernetes objects.

Objects keep Kubernetes' own shape, reduced to the fields that a rule can refer to (room `snapshot`
decides which). Kinds without an object are absent from `objects`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.load import ClusterLoad
from gitbot.model.cluster.scheduler_profile import SchedulerProfiles
from gitbot.model.lazy_fields import LazyFields, with_later

KINDS = (
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "ConfigMap",  # only gitbot-hold in namespace gitbot
    "ControllerRevision",  # only those of instance types and preferences
    "HorizontalPodAutoscaler",
    "KubeDescheduler",
    "KubeVirt",
    "MigrationPolicy",
    "Namespace",
    "NetworkAttachmentDefinition",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceQuota",
    "RuntimeClass",
    "Scheduler",
    "Service",
    "StatefulSet",
    "StorageClass",
    "StorageProfile",
    "VirtualMachine",
    "VirtualMachineClusterInstancetype",
    "VirtualMachineClusterPreference",
    "VirtualMachineInstance",
    "VirtualMachineInstanceMigration",
    "VirtualMachineInstanceReplicaSet",
    "VirtualMachineInstancetype",
    "VirtualMachinePool",
    "VirtualMachinePreference",
    "VolumeAttachment",
)
ADDS_NAMESPACES = "`kubectl get namespaces -o yaml` adds them"
STORAGE_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot(LazyFields):
    """Cluster state at one moment.

    `taken_at` is in UTC seconds. `objects` maps a kind of `KINDS` to its objects, sorted by
    (namespace, name) in code points. `digest` covers cluster, kinds and objects, not the time.
    `absent_kinds` are optional kinds that the cluster does not serve: they count as "none", as do
    `denied_kinds`, which the account may not list. `missing_kinds` are those without an object in
    plain files: there may be none, or the files lack them. `load` is the measured load, None if it
    was not read; `profiles` are those of a file that was given. The digest covers neither.
    """

    cluster: str
    taken_at: int
    objects: Mapping[str, Sequence[KubernetesObject]]
    digest: str = ""
    kubernetes_version: str = ""
    resource_version: str = ""
    absent_kinds: tuple[str, ...] = ()
    denied_kinds: tuple[str, ...] = ()
    missing_kinds: tuple[str, ...] = ()
    load: ClusterLoad | None = None
    profiles: SchedulerProfiles | None = None

    def of(self, kind: str) -> Sequence[KubernetesObject]:
        return self.objects.get(kind, ())

    def unread(self, kind: str) -> bool:
        """Whether the cluster may have objects of a kind of which the snapshot has none."""
        return kind in self.missing_kinds or kind in self.denied_kinds

    def find(self, kind: str, name: NamespacedName) -> KubernetesObject | None:
        """One object by kind and name. Linear; build an index for frequent use."""
        return next((obj for obj in self.of(kind) if name_of(obj) == name), None)

    def with_load(self, load: ClusterLoad) -> ClusterSnapshot:
        """The same state with measured load."""
        return self._with(load, self.profiles)

    def with_profiles(self, profiles: SchedulerProfiles) -> ClusterSnapshot:
        """The same state under a scheduler of these profiles."""
        return self._with(self.load, profiles)

    def _with(
        self, load: ClusterLoad | None, profiles: SchedulerProfiles | None
    ) -> ClusterSnapshot:
        made = ClusterSnapshot(
            cluster=self.cluster,
            taken_at=self.taken_at,
            objects=self.objects,
            kubernetes_version=self.kubernetes_version,
            resource_version=self.resource_version,
            absent_kinds=self.absent_kinds,
            denied_kinds=self.denied_kinds,
            missing_kinds=self.missing_kinds,
            load=load,
            profiles=profiles,
        )
        return with_later(made, digest=lambda: self.digest)
