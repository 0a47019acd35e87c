"""Who made a migration, by the marks that KubeVirt leaves on it."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, annotations_of
from gitbot.kubevirt.names import EVACUATION, EVICTION_SOURCE, WORKLOAD_UPDATE


def mover_of(migration: KubernetesObject) -> str:
    """In words; a person with virtctl leaves no mark."""
    annotations = annotations_of(migration)
    if annotations.get(EVICTION_SOURCE) == "descheduler":
        return "the descheduler"
    if EVACUATION in annotations:
        return "an evacuation"
    if WORKLOAD_UPDATE in annotations:
        return "KubeVirt's workload updater"
    return "a person or another tool"
