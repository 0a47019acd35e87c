"""Facts that do not change while pods move: nodes, namespaces, volumes, services."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from gitbot.constraints.scheduler.pod_masks import StandingMasks
from gitbot.constraints.scheduler.profiles import profiles_of
from gitbot.constraints.scheduler.storage import Storage
from gitbot.constraints.scheduler.versions import FOLLOWED
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.caches import RowCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.columns import NodeColumns, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile
from gitbot.model.cluster.scheduling import NAMESPACE_NAME
from gitbot.model.grouping import grouped

FACT_KINDS = (
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ReplicaSet",
    "ReplicationController",
    "Scheduler",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolumeAttachment",
)
"""The kinds that the standing facts are made of."""


decoded_nodes = RowCache(Node.from_object)


def minor_of(snapshot: ClusterSnapshot) -> tuple[int, int]:
    """Major and minor of the kube-scheduler that decides: those of the API server.

    In a dump that does not say them, those of the newest kubelet: no kubelet is newer than its API
    server. `FOLLOWED` if nothing says them.
    """
    kubelets = (at(obj, "status", "nodeInfo", "kubeletVersion") for obj in snapshot.of("Node"))
    texts = [snapshot.kubernetes_version] if snapshot.kubernetes_version else map(str, kubelets)
    found = (re.match(r"v?(\d{1,4})\.(\d{1,4})", text) for text in texts)
    return max(((int(one[1]), int(one[2])) for one in found if one), default=FOLLOWED[:2])


class StandingFacts:
    """The fixed facts of one snapshot, decoded. `unread` are kinds that it may lack.

    `services` and `owners` hold (namespace, selector) for default spreading: services are keyed by
    namespace, owners by (kind, namespace, name).
    """

    __slots__ = (
        "columns",
        "minor",
        "namespaces",
        "owners",
        "profiles",
        "services",
        "standing",
        "storage",
        "unread",
        "volume_room",
    )

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        nodes = decoded_nodes((obj,) for obj in snapshot.of("Node"))
        self.columns = NodeColumns(tuple(sorted(nodes, key=lambda node: node.name)))
        self.namespaces = {
            name_of(obj).name: namespace_labels(name_of(obj).name, labels_of(obj))
            for obj in snapshot.of("Namespace")
        }
        self.minor = minor_of(snapshot)
        self.profiles = profiles_of(snapshot).profiles
        self.storage = Storage(snapshot)
        self.unread = frozenset(filter(snapshot.unread, FACT_KINDS))
        self.standing = StandingMasks()
        self.volume_room = _volume_room(self.columns, self.storage)
        self.services = _services(snapshot.of("Service"))
        self.owners = _owners(snapshot)

    def profile(self, pod: Pod) -> SchedulerProfile:
        """The profile that places a pod; the default one for a pod of another scheduler."""
        return self.profiles.get(pod.scheduler, DEFAULT_PROFILE)

    def labels_of_namespace(self, name: str) -> Mapping[str, str]:
        """A namespace's labels; only its name label if the snapshot does not have it."""
        return self.namespaces.get(name) or namespace_labels(name, {})


def namespace_labels(name: str, labels: Mapping[str, str]) -> Mapping[str, str]:
    """Labels with the name label that the API server adds to every namespace."""
    return {**labels, NAMESPACE_NAME: name}


def _volume_room(columns: NodeColumns, storage: Storage) -> dict[str, Numbers]:
    """Driver to the volumes that a node can attach besides its VolumeAttachments, (nodes,)."""
    found: dict[str, Numbers] = {}
    for name, limits in storage.drivers.items():
        number = columns.index.get(name)
        for driver, limit in limits.items():
            if number is None:
                continue
            room = found.setdefault(driver, np.full(len(columns), _UNLIMITED, dtype=np.int64))
            room[number] = limit - len(set(storage.attached(name, driver)))
    return found


_UNLIMITED = 2**62


def _services(objects: Iterable[KubernetesObject]) -> dict[str, tuple[LabelMatcher, ...]]:
    return grouped(
        (name_of(obj).namespace, LabelMatcher.of({"matchLabels": selector}))
        for obj in objects
        if (selector := at(obj, "spec", "selector", default={}))
    )


def _owners(snapshot: ClusterSnapshot) -> dict[tuple[str, str, str], LabelMatcher]:
    found: dict[tuple[str, str, str], LabelMatcher] = {}
    for kind in ("ReplicaSet", "ReplicationController", "StatefulSet"):
        for obj in snapshot.of(kind):
            raw = at(obj, "spec", "selector")
            if raw is not None:
                selector = {"matchLabels": raw} if kind == "ReplicationController" else raw
                name = name_of(obj)
                found[kind, name.namespace, name.name] = LabelMatcher.of(selector)
    return found
