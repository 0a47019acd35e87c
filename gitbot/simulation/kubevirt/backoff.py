"""The pause of evacuations and workload updates after failures: 20 s, doubling.

Source: KubeVirt, migration.go, handleMigrationBackoff. Users' migrations have none.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, name_of, uid_of
from gitbot.kubernetes.phases import phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.kubevirt.launchers import created_at
from gitbot.simulation.kubevirt.reconcile_result import MIGRATIONS_OF_VMI, ObjectView

BACKOFF = 20
_BY_CONTROLLERS = (names.EVACUATION, names.WORKLOAD_UPDATE)


def backoff_left(
    view: ObjectView, migration: KubernetesObject, vmi: KubernetesObject, now: int
) -> int:
    """Seconds that this migration still waits after its failed predecessors; 0 or less: none.

    Only the newest of a VMI's evacuations and workload updates waits; a success resets the count.
    """
    if not _made_by_controller(migration):
        return 0
    alike = [
        item
        for item in view.select(MIGRATIONS_OF_VMI, str(name_of(vmi)))
        if _made_by_controller(item)
    ]
    alike.sort(key=lambda item: _age(item, uid_of(migration)), reverse=True)
    if len(alike) < 2 or uid_of(alike[0]) != uid_of(migration):
        return 0
    pause = 0
    for item in alike[1:]:
        if phase_of(item) == "Succeeded":
            break
        if phase_of(item) == "Failed" and not is_deleting(item):
            pause = pause * 2 or BACKOFF
    failed = _failed_at(alike[1])
    return failed + pause - now if pause and failed is not None else 0


def _age(migration: KubernetesObject, waiting: str) -> tuple[str, bool, int]:
    """Sorts by creation; in the same second the waiting one is the newest, then the last failed."""
    return created_at(migration), uid_of(migration) == waiting, _failed_at(migration) or 0


def _made_by_controller(migration: KubernetesObject) -> bool:
    return any(key in annotations_of(migration) for key in _BY_CONTROLLERS)


def _failed_at(migration: KubernetesObject) -> int | None:
    for entry in at(migration, "status", "phaseTransitionTimestamps", default=[]):
        if entry.get("phase") == "Failed":
            return parse_instant(entry["phaseTransitionTimestamp"])
    return None
