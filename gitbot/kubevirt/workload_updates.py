"""Which VMs KubeVirt's workload updater will migrate of its own accord.

The counter in the KubeVirt object's status does not say: it counts every outdated VM, also those
that cannot migrate, which the updater with LiveMigrate alone never touches.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.kubevirt.eviction import is_migratable
from gitbot.kubevirt.names import OUTDATED_LAUNCHER


def updates_to_come(vmis: Iterable[KubernetesObject], kubevirt: KubernetesObject) -> int:
    """How many running VMs the updater will migrate: outdated, and migratable.

    Source: pkg/virt-controller/watch/workload-updater/workload-updater.go, getUpdateData.
    """
    methods = at(kubevirt, "spec", "workloadUpdateStrategy", "workloadUpdateMethods", default=())
    if "LiveMigrate" not in methods:
        return 0
    return sum(
        1
        for vmi in vmis
        if OUTDATED_LAUNCHER in labels_of(vmi)
        and at(vmi, "status", "phase") == "Running"
        and not at(vmi, "metadata", "deletionTimestamp")
        and is_migratable(vmi)
    )
