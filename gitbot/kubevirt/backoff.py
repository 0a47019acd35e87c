"""The pause that evacuations and workload updates make after failures: 20 s, doubling.

Source: KubeVirt 1.9.0, migration.go, handleMigrationBackoff. Users' migrations have none.
"""

from __future__ import annotations

from gitbot.kubevirt import names
from gitbot.kubevirt.limits import BACKOFF, phase_of
from gitbot.kubevirt.pods import created_at, is_deleting
from gitbot.kubevirt.reconcile import MIGRATIONS_OF_VMI, View
from gitbot.model.instants import parse_instant
from gitbot.model.objects import KubernetesObject, annotations_of, at, name_of, uid_of

_BY_CONTROLLERS = (names.EVACUATION, names.WORKLOAD_UPDATE)


def backoff_left(view: View, migration: KubernetesObject, vmi: KubernetesObject, now: int) -> int:
    """Seconds that this migration still has to wait after its failed predecessors; 0 or less: none.

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
