"""What keeps a healthy migration Pending: a backup, utility volumes.

Source: KubeVirt, migration.go, handleVMBackup and handleUtilityVolumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import at, condition_of, with_value
from gitbot.kubevirt.launcher_pod import backup_in_progress
from gitbot.kubevirt.limits import utility_timeout
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.kubevirt.launchers import created_at
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import RecordEvent
from gitbot.simulation.kubevirt.status_writes import with_condition, without_condition

BACKUP_CONDITION = "migrationBlockedByBackup"
UTILITY_CONDITION = "migrationBlockedByUtilityVolumes"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """The migration with the blockers' conditions, and whether it has to wait."""

    migration: Mapping[str, Any]
    waits: bool
    events: tuple[RecordEvent, ...] = ()


def held_back(scene: MigrationScene) -> HeldBack:
    """A Pending migration and its blockers: first backups, then utility volumes."""
    backup = backup_in_progress(scene.vmi)
    if backup:
        return _by_backup(scene, backup)
    migration = without_condition(scene.migration, BACKUP_CONDITION)
    if at(scene.vmi, "spec", "utilityVolumes"):
        return _by_utility_volumes(scene, migration)
    return HeldBack(migration=without_condition(migration, UTILITY_CONDITION), waits=False)


def utility_volumes_left(scene: MigrationScene) -> int:
    """Seconds until a migration gives up waiting for utility volumes."""
    spent = max(0, scene.now - parse_instant(created_at(scene.migration)))
    return utility_timeout(scene.migration, scene.kubevirt()) - spent


def _by_backup(scene: MigrationScene, backup: str) -> HeldBack:
    migration = scene.migration
    critical = at(migration, "spec", "priority") == "system-critical"
    text = f"Waiting for backup {backup} to complete"
    events: tuple[RecordEvent, ...] = ()
    if critical:
        text = f"Aborting backup {backup} for system-critical migration"
        if condition_of(migration, BACKUP_CONDITION) is None:
            events = (_event(scene, "Normal", "BackupAbortedForMigration", text),)
    changed = with_condition(
        migration, BACKUP_CONDITION, "True", scene.now, reason="BackupInProgress", message=text
    )
    return HeldBack(migration=changed, waits=True, events=events)


def _by_utility_volumes(scene: MigrationScene, migration: Mapping[str, Any]) -> HeldBack:
    left = utility_volumes_left(scene)
    if left <= 0:
        spent = scene.now - parse_instant(created_at(scene.migration))
        text = (
            f"Migration timeout waiting for utility volumes to detach from VMI [{scene.text}]. "
            f"Utility volumes still present after {spent} seconds."
        )
        changed = with_value(migration, "Failed", "status", "phase")
        event = _event(scene, "Warning", "FailedMigration", text)
        return HeldBack(migration=changed, waits=True, events=(event,))
    text = (
        f"Migration waiting for utility volumes to detach from VMI [{scene.text}]. "
        f"Will timeout in {left} seconds."
    )
    event = _event(scene, "Warning", "UtilityVolumeMigrationPending", text)
    if condition_of(migration, UTILITY_CONDITION) is None:
        said = "Migration is waiting for utility volumes to detach."
        migration = with_condition(
            migration,
            UTILITY_CONDITION,
            "True",
            scene.now,
            reason="UtilityVolumesPresent",
            message=f"{said} Will timeout in {left} seconds.",
        )
    return HeldBack(migration=migration, waits=True, events=(event,))


def _event(scene: MigrationScene, kind: str, reason: str, text: str) -> RecordEvent:
    return RecordEvent(object=scene.migration, type=kind, reason=reason, message=text)
