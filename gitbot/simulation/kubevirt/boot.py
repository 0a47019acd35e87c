"""A simulated virt-handler: a guest boots on the node of its launcher pod.

Source of the written fields: KubeVirt, pkg/virt-handler. The caller decides whether a guest
can be migrated: disks, networks and devices are not judged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.kubernetes.objects import KubernetesObject, at, with_value
from gitbot.kubernetes.phases import phase_of
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.simulation.kubevirt.reconcile_result import NOTHING, Reconciled, Update
from gitbot.simulation.kubevirt.status_writes import since, with_condition, with_phase


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTimes:
    """How a guest boots: seconds from Scheduled to Running, and conditions about its migration.

    `conditions` are written at that moment, by type: status, reason, message.
    """

    boot: int = 1
    selinux_context: str = "none"
    method: str = "BlockMigration"
    conditions: Mapping[str, tuple[str, str, str]] = field(
        default_factory=lambda: {
            "LiveMigratable": ("True", "", ""),
            "StorageLiveMigratable": ("True", "", ""),
        }
    )


def reconcile_boot(vmi: KubernetesObject, now: int, times: BootTimes) -> Reconciled:
    """A VMI in phase Scheduled begins to run `times.boot` seconds later."""
    if phase_of(vmi) != "Scheduled" or is_deleting(vmi):
        return NOTHING
    left = since(vmi, "Scheduled", now) + times.boot - now
    if left > 0:
        return Reconciled(requeue_after=left, waits_for="the guest to boot")
    changed = with_phase(vmi, "Running", now)
    changed = with_condition(changed, "Ready", "True", now)
    for name, (status, reason, message) in sorted(times.conditions.items()):
        changed = with_condition(changed, name, status, now, reason=reason, message=message)
    changed = with_value(changed, times.method, "status", "migrationMethod")
    if times.selinux_context:
        changed = with_value(changed, times.selinux_context, "status", "selinuxContext")
    machine = at(vmi, "spec", "domain", "machine", "type")
    if machine and at(changed, "status", "machine") is None:
        changed = with_value(changed, {"type": machine}, "status", "machine")
    return Reconciled(writes=(Update(object=changed),))
