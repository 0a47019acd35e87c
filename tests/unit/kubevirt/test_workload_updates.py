"""KubeVirt's workload updater migrates outdated VMs that can migrate, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.workload_updates import changes_to_come, updates_to_come

OUTDATED = {"kubevirt.io/outdatedLauncherImage": ""}


def vmi(
    *, labels: dict[str, str] = OUTDATED, phase: str = "Running", migratable: str = "True"
) -> dict[str, Any]:
    return {
        "metadata": {"name": "v", "namespace": "shop", "labels": labels},
        "status": {
            "phase": phase,
            "conditions": [{"type": "LiveMigratable", "status": migratable}],
        },
    }


def kubevirt(*methods: str) -> dict[str, Any]:
    return {
        "spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": list(methods)}},
        "status": {"outdatedVirtualMachineInstanceWorkloads": 1},
    }


@pytest.mark.parametrize(
    ("item", "methods", "moved"),
    [
        (vmi(), ("LiveMigrate",), 1),
        (vmi(), ("LiveMigrate", "Evict"), 1),
        (vmi(), ("Evict",), 0),
        (vmi(), (), 0),
        (vmi(labels={}), ("LiveMigrate",), 0),
        (vmi(phase="Scheduling"), ("LiveMigrate",), 0),
        (vmi(migratable="False"), ("LiveMigrate",), 0),
    ],
)
def test_the_updater_migrates_outdated_vms_that_can_migrate(
    item: dict[str, Any], methods: tuple[str, ...], moved: int
) -> None:
    assert updates_to_come([item], kubevirt(*methods)) == moved


WAITS = {"type": "VolumesChange", "status": "True"}
COPIED = [{"volumeName": "root"}]


def changing(*conditions: dict[str, str], migratable: str = "True", **status: Any) -> Any:
    item = vmi(labels={}, migratable=migratable)
    found = [*item["status"]["conditions"], *conditions]
    return {**item, "status": {**item["status"], "conditions": found, **status}}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (changing({"type": "HotVCPUChange", "status": "False"}), "a hotplug of CPUs waits"),
        (changing({"type": "HotMemoryChange", "status": "False"}), ""),
        (changing({"type": "HotMemoryChange", "status": "True"}), "a hotplug of memory waits"),
        (changing({"type": "MigrationRequired", "status": "True"}), "a change of it waits"),
        (changing(WAITS, migratable="False", migratedVolumes=COPIED), "a change of its volumes"),
        (changing(WAITS, migratable="False"), ""),
        (
            changing(
                WAITS,
                migratable="False",
                migratedVolumes=COPIED,
                volumeStatus=[
                    {
                        "name": "other",
                        "persistentVolumeClaimInfo": {"accessModes": ["ReadWriteOnce"]},
                    }
                ],
            ),
            "",
        ),
    ],
)
def test_the_updater_migrates_vms_whose_change_waits(item: dict[str, Any], words: str) -> None:
    """workload-updater.go, isHotplugInProgress and isVolumesUpdateInProgress."""
    name = NamespacedName(namespace="shop", name="v")
    found = changes_to_come([item], kubevirt("LiveMigrate"))
    assert words in found.get(name, "")
    assert (name in found) == bool(words)
    assert not changes_to_come([item], kubevirt("LiveMigrate"), [name])
    assert not changes_to_come([item], kubevirt())
