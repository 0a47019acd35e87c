"""What keeps a migration Pending although nothing is wrong with it: a backup, utility volumes.

Source: KubeVirt 1.9.0, migration.go, handleVMBackup and handleUtilityVolumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubevirt.edits import with_condition, with_value, without_condition
from gitbot.kubevirt.limits import utility_timeout
from gitbot.kubevirt.migration_scene import Scene, backup_in_progress
from gitbot.kubevirt.pods import created_at
from gitbot.kubevirt.reconcile import RecordEvent
from gitbot.model.instants import parse_instant
from gitbot.model.objects import at, condition_of

BACKUP_CONDITION = "migrationBlockedByBackup"
UTILITY_CONDITION = "migrationBlockedByUtilityVolumes"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """The migration with the conditions that say so; whether it has to wait."""

    migration: Mapping[str, Any]
    waits: bool
    events: tuple[RecordEvent, ...] = ()


def held_back(scene: Scene) -> HeldBack:
    """A Pending migration as far as others let it: first backups, then utility volumes."""
    backup = backup_in_progress(scene.vmi)
    if backup:
        return _by_backup(scene, backup)
    migration = without_condition(scene.migration, BACKUP_CONDITION)
    if at(scene.vmi, "spec", "utilityVolumes"):
        return _by_utility_volumes(scene, migration)
    return HeldBack(migration=without_condition(migration, UTILITY_CONDITION), waits=False)


def utility_volumes_left(scene: Scene) -> int:
    """Seconds until a migration gives up waiting for utility volumes."""
    spent = max(0, scene.now - parse_instant(created_at(scene.migration)))
    return utility_timeout(scene.migration, scene.kubevirt()) - spent


def _by_backup(scene: Scene, backup: str) -> HeldBack:
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


def _by_utility_volumes(scene: Scene, migration: Mapping[str, Any]) -> HeldBack:
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


def _event(scene: Scene, kind: str, reason: str, text: str) -> RecordEvent:
    return RecordEvent(object=scene.migration, type=kind, reason=reason, message=text)
