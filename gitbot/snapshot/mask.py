"""What a mask is, and what the masks of several kinds share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEEP = None
Mask = Any  # KEEP | Mapping[str, Mask] | list[Mask]; recursive


def keep(*names: str) -> dict[str, Mask]:
    """Fields that are kept as they are."""
    return dict.fromkeys(names, KEEP)


HOOK_SIDECARS = "hooks.kubevirt.io/hookSidecars"
"""Kept as a list of images alone: each sidecar has requests, its arguments are private."""

ANNOTATIONS = frozenset(
    {
        HOOK_SIDECARS,
        "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity",
        "descheduler.alpha.kubernetes.io/evict",
        "descheduler.alpha.kubernetes.io/eviction-in-progress",
        "descheduler.alpha.kubernetes.io/prefer-no-eviction",
        "descheduler.alpha.kubernetes.io/request-evict-only",
        "kubevirt.io/allow-pod-bridge-network-live-migration",
        "kubevirt.io/domain",
        "kubevirt.io/eviction-source",
        "kubevirt.io/evacuationMigration",
        "kubevirt.io/memory-overhead-bytes",
        "kubevirt.io/migrationJobName",
        "kubevirt.io/migrationPendingPodTimeoutSeconds",
        "kubevirt.io/migrationTransportUnix",
        "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
        "kubevirt.io/nonroot",
        "kubevirt.io/workloadUpdateMigration",
        "node-labeller.kubevirt.io/skip-node",
        "pv.kubernetes.io/bind-completed",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
ANNOTATION_PREFIXES = ("placement.gitbot.dev/",)

METADATA: Mapping[str, Mask] = {
    **keep(
        "name",
        "namespace",
        "uid",
        "labels",
        "annotations",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "finalizers",
    ),
    "ownerReferences": [keep("apiVersion", "kind", "name", "uid", "controller")],
}
TEMPLATE_METADATA: Mapping[str, Mask] = keep("labels", "annotations")
CONDITIONS: Mask = [keep("type", "status", "reason", "message", "lastTransitionTime")]
QUANTITIES: Mapping[str, Mask] = keep("requests", "limits")
