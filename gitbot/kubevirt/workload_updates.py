"""Which VMs KubeVirt's workload updater will migrate of its own accord.

The counter in the KubeVirt object's status does not say: it counts every outdated VM, also those
that cannot migrate, which the updater with LiveMigrate alone never touches.

Source: pkg/virt-controller/watch/workload-updater/workload-updater.go, getUpdateData.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, labels_of, name_of
from gitbot.kubevirt.eviction import is_migratable
from gitbot.kubevirt.names import OUTDATED_LAUNCHER
from gitbot.kubevirt.state_storage import PREFIX

_CHANGES = {
    "HotVCPUChange": "a hotplug of CPUs waits",
    "HotMemoryChange": "a hotplug of memory waits",
    "MigrationRequired": "a change of it waits for a migration",
    "VolumesChange": "a change of its volumes waits",
}


def updates_to_come(
    vmis: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
    migrating: Collection[NamespacedName] = (),
) -> int:
    """How many running VMs the updater will migrate as their launcher is outdated.

    `migrating` are VMs with an unfinished migration, which the updater leaves alone.
    """
    found = _movable(vmis, kubevirt, migrating)
    return sum(1 for vmi in found if OUTDATED_LAUNCHER in labels_of(vmi))


def changes_to_come(
    vmis: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
    migrating: Collection[NamespacedName] = (),
) -> Mapping[NamespacedName, str]:
    """The VMs that the updater will migrate to carry out a change, and which one, in words."""
    every = ((vmi, _change(vmi)) for vmi in _movable(vmis, kubevirt, migrating))
    return {name_of(vmi): words for vmi, words in every if words}


def _change(vmi: KubernetesObject) -> str:
    for name, words in _CHANGES.items():
        found = condition_of(vmi, name)
        if found is not None and (name == "HotVCPUChange" or found.get("status") == "True"):
            return words
    return ""


def _movable(
    vmis: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
    migrating: Collection[NamespacedName],
) -> Iterator[KubernetesObject]:
    methods = at(kubevirt, "spec", "workloadUpdateStrategy", "workloadUpdateMethods", default=())
    if "LiveMigrate" not in methods:
        return
    for vmi in vmis:
        if (
            (OUTDATED_LAUNCHER in labels_of(vmi) or _change(vmi))
            and at(vmi, "status", "phase") == "Running"
            and not at(vmi, "metadata", "deletionTimestamp")
            and (is_migratable(vmi) or _migrates_volumes(vmi))
            and name_of(vmi) not in migrating
        ):
            yield vmi


def _migrates_volumes(vmi: KubernetesObject) -> bool:
    """Whether the migration copies what makes the VM not migratable.

    Source: pkg/virt-controller/watch/volume-migration, ValidateVolumesUpdateMigration.
    """
    copied = {item.get("volumeName") for item in at(vmi, "status", "migratedVolumes", default=())}
    other = condition_of(vmi, "StorageLiveMigratable") or {}
    if not copied or other.get("status") == "False":
        return False
    return all(
        volume.get("name") in copied
        for volume in at(vmi, "status", "volumeStatus", default=())
        for claim in (volume.get("persistentVolumeClaimInfo") or {},)
        if claim.get("accessModes") == ["ReadWriteOnce"]
        and not str(claim.get("claimName")).startswith(PREFIX)
    )
