"""Which component created a migration, by the marks that KubeVirt leaves on it."""

from __future__ import annotations

from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, labels_of
from gitbot.kubevirt.names import EVACUATION, EVICTION_SOURCE, WORKLOAD_UPDATE


def mover_of(migration: KubernetesObject) -> str:
    """The mover in words; a person with virtctl leaves no mark."""
    annotations = annotations_of(migration)
    if annotations.get(EVICTION_SOURCE) == "descheduler":
        return "the descheduler"
    if EVACUATION in annotations:
        return "an evacuation"
    if WORKLOAD_UPDATE in annotations:
        return "KubeVirt's workload updater"
    if labels_of(migration).get(MANAGED_BY) == "gitbot":
        return "another gitbot"
    return "a person or another tool"
