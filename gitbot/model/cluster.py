"""ClusterSnapshot: the state of one cluster at one moment, as minimal Kubernetes objects.

Objects keep Kubernetes' own shape, cut down to the fields that a rule can refer to (what is kept
is decided in room `snapshot`). Kinds without an object are absent from `objects`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, name_of

KINDS = (
    "CSINode",
    "ConfigMap",  # only gitbot-hold in namespace gitbot
    "KubeVirt",
    "MigrationPolicy",
    "Namespace",
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
    "Service",
    "StatefulSet",
    "StorageClass",
    "VirtualMachine",
    "VirtualMachineInstance",
    "VirtualMachineInstanceMigration",
    "VirtualMachineInstanceReplicaSet",
    "VirtualMachinePool",
    "VolumeAttachment",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """Cluster state at one moment.

    `taken_at` is in seconds UTC. `objects` maps a kind of `KINDS` to its objects, sorted by
    (namespace, name) in code points. `digest` covers cluster, kinds and objects, not the time;
    where `digest_later` is given in its stead, it is taken when it is first asked for.
    `absent_kinds` are optional kinds that the cluster does not serve: they count as "none".
    """

    cluster: str
    taken_at: int
    objects: Mapping[str, Sequence[KubernetesObject]]
    digest: str = ""
    kubernetes_version: str = ""
    resource_version: str = ""
    absent_kinds: tuple[str, ...] = ()
    digest_later: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.digest_later is not None and not self.digest:
            object.__delattr__(self, "digest")

    if not TYPE_CHECKING:  # the checker sees the field

        def __getattr__(self, name: str) -> str:
            if name != "digest" or self.digest_later is None:
                raise AttributeError(f"a ClusterSnapshot has no {name}")
            object.__setattr__(self, "digest", self.digest_later())
            return self.digest

    def of(self, kind: str) -> Sequence[KubernetesObject]:
        """All objects of a kind, sorted by (namespace, name)."""
        return self.objects.get(kind, ())

    def find(self, kind: str, name: NamespacedName) -> KubernetesObject | None:
        """One object by kind and name. Linear; build an index where it is asked often."""
        return next((obj for obj in self.of(kind) if name_of(obj) == name), None)
