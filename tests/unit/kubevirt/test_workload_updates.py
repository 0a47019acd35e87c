"""KubeVirt's workload updater migrates outdated VMs that can migrate, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubevirt.workload_updates import updates_to_come

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
