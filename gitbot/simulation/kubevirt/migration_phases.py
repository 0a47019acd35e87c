"""How a migration's status changes in one pass: failures first, then the next phase.

Source: KubeVirt, migration.go, updateStatus and processMigrationPhase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import at, condition_of, name_of, with_value
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.launcher_pod import is_ready
from gitbot.model.text.instants import format_instant
from gitbot.simulation.kubevirt.launchers import current_pod
from gitbot.simulation.kubevirt.migration_blockers import held_back
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import RecordEvent
from gitbot.simulation.kubevirt.status_writes import with_condition, without_condition
from gitbot.simulation.kubevirt.target_creation import QUOTA_CONDITION

ABORT_CONDITION = "migrationAbortRequested"
_BEFORE_TARGET = ("", "Pending")
_BEFORE_HAND_OFF = ("", "Pending", "Scheduling", "Scheduled")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStatus:
    """The migration with its new status, and Events about the change."""

    migration: Mapping[str, Any]
    events: tuple[RecordEvent, ...] = ()


def next_status(scene: MigrationScene) -> NextStatus:
    """The migration's status after this pass; equal to the present one if nothing changes."""
    if is_final(scene.migration):
        return NextStatus(migration=_with_copied_state(scene))
    failure = _failure(scene)
    if failure:
        return _failed(scene, failure)
    if _newly_canceled(scene):
        return _stamped(scene, with_condition(scene.migration, ABORT_CONDITION, "True", scene.now))
    return _forward(scene)


def _with_copied_state(scene: MigrationScene) -> Mapping[str, Any]:
    """After the end the migration keeps a copy of the VMI's whole migrationState."""
    if scene.own_state is None:
        return scene.migration
    return with_value(scene.migration, scene.own_state, "status", "migrationState")


def _failure(scene: MigrationScene) -> str:
    phase, state = phase_of(scene.migration), scene.state
    target = scene.target
    if is_final(scene.vmi):
        return "Migration failed vmi shutdown during migration."
    if scene.canceled and scene.own_state is None:
        return "Migration failed due to being canceled"
    if target is not None and is_final(target):
        return "Migration failed because target pod shutdown during migration"
    if target is None and phase not in _BEFORE_TARGET:
        return "Migration target pod was removed during active migration."
    if phase not in _BEFORE_HAND_OFF and state is None:
        return "VMI's migration state was cleared during the active migration."
    if phase not in _BEFORE_HAND_OFF and scene.own_state is None:
        return (
            "VMI's migration state was taken over by another migration job during active migration."
        )
    if at(scene.own_state, "failed"):
        return "source node reported migration failed"
    if scene.detached() and not _newly_canceled(scene):
        return "Migration failed because target attachment pod shutdown during migration"
    if phase == "" and scene.other_owner():
        return "VMI is not eligible for migration because another migration job is in progress."
    return ""


def _newly_canceled(scene: MigrationScene) -> bool:
    return scene.canceled and condition_of(scene.migration, ABORT_CONDITION) is None


def _failed(scene: MigrationScene, message: str) -> NextStatus:
    changed = with_value(scene.migration, "Failed", "status", "phase")
    if scene.canceled and scene.own_state is None:
        changed = with_condition(changed, ABORT_CONDITION, "True", scene.now)
    event = RecordEvent(
        object=scene.migration, type="Warning", reason="FailedMigration", message=message
    )
    return _stamped(scene, changed, event)


def _forward(scene: MigrationScene) -> NextStatus:
    migration, state = scene.migration, scene.own_state
    match phase_of(migration):
        case "":
            return _stamped(scene, _in_phase(migration, "Pending"))
        case "Pending":
            return _pending(scene)
        case "Scheduling":
            changed = without_condition(migration, QUOTA_CONDITION)
            ready = scene.target is not None and is_ready(scene.target)
            if ready and scene.attached():
                changed = _in_phase(changed, "Scheduled")
            return _stamped(scene, changed)
        case "Scheduled" if at(state, "targetNode"):
            return _stamped(scene, _in_phase(migration, "PreparingTarget"))
        case "PreparingTarget" if at(state, "targetNode") and at(state, "targetNodeAddress"):
            return _stamped(scene, _in_phase(migration, "TargetReady"))
        case "TargetReady" if at(state, "startTimestamp"):
            return _stamped(scene, _in_phase(migration, "Running"))
        case "Running" if at(state, "completed") and not _unsettled(scene):
            event = RecordEvent(
                object=migration,
                type="Normal",
                reason="SuccessfulMigration",
                message="Source node reported migration succeeded",
            )
            return _stamped(scene, _in_phase(migration, "Succeeded"), event)
        case _:
            return NextStatus(migration=migration)


def _pending(scene: MigrationScene) -> NextStatus:
    held = held_back(scene)
    changed = held.migration
    if not held.waits and scene.attached():
        changed = _in_phase(changed, "Scheduling")
    return _stamped(scene, changed, *held.events)


def _unsettled(scene: MigrationScene) -> bool:
    """A pending hotplug holds the migration in Running."""
    if condition_of(scene.vmi, "HotVCPUChange") is not None:
        return True
    return any(
        at(condition_of(scene.vmi, name), "status") == "True"
        for name in ("HotMemoryChange", "MigrationRequired")
    )


def _in_phase(migration: Mapping[str, Any], phase: str) -> dict[str, Any]:
    return with_value(migration, phase, "status", "phase")


def _stamped(scene: MigrationScene, changed: Mapping[str, Any], *events: RecordEvent) -> NextStatus:
    """With the time of the new phase and, in Pending, the source pod."""
    phase = phase_of(changed)
    stamps = at(changed, "status", "phaseTransitionTimestamps", default=[])
    if phase and phase != phase_of(scene.migration) and all(s["phase"] != phase for s in stamps):
        stamp = {"phase": phase, "phaseTransitionTimestamp": format_instant(scene.now)}
        changed = with_value(changed, [*stamps, stamp], "status", "phaseTransitionTimestamps")
    pod = current_pod(scene.view, scene.vmi)
    if phase == "Pending" and pod is not None:
        path = ("status", "migrationState", "sourcePod")
        changed = with_value(changed, name_of(pod).name, *path)
    return NextStatus(migration=changed, events=events)
