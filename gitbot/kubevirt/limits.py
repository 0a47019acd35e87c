"""KubeVirt's limits on migrations: how many at once, in which order, for how long."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, condition_of
from gitbot.kubernetes.phases import FINAL_PHASES, phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.model.text.decoding import decoding

PARALLEL = 5
PER_SOURCE = 2
UNSCHEDULABLE_TIMEOUT = 300
PENDING_TIMEOUT = 900
UTILITY_TIMEOUT = 150
PRIORITIES = {"system-critical": 100, "user-triggered": 50, "system-maintenance": 20}
_SYNCHRONIZING = ("WaitingForSync", "Synchronizing")
_NOT_RUNNING = ("", "Pending", *_SYNCHRONIZING, *FINAL_PHASES)


def limits_of(kubevirt: KubernetesObject) -> tuple[int, int]:
    """Parallel migrations in the cluster, and out of one node. SnapshotError if malformed."""
    migrations = setting(kubevirt, "migrations", default={})
    with decoding("KubeVirt", kubevirt):
        return (
            int(at(migrations, "parallelMigrationsPerCluster", default=PARALLEL)),
            int(at(migrations, "parallelOutboundMigrationsPerNode", default=PER_SOURCE)),
        )


def is_running(migration: KubernetesObject) -> bool:
    """Whether a migration counts against the limits, judged by its phase only.

    A Pending one counts too once its target pod exists, but that cannot be seen without the pods.
    """
    phase = phase_of(migration)
    if phase == "Scheduling" and sends_away(migration):
        return False  # it waits for the pod in the other cluster
    return phase not in _NOT_RUNNING


def sends_away(migration: KubernetesObject) -> bool:
    """Whether it moves the VM to another cluster (IsDecentralizedSource in KubeVirt's types.go)."""
    spec = migration.get("spec") or {}
    return spec.get("sendTo") is not None and spec.get("receive") is None


def remote_end(migration: KubernetesObject) -> str:
    """` to another cluster (…)` or ` from another cluster (…)`; "" if both ends are here."""
    sent, received = (at(migration, "spec", key) for key in ("sendTo", "receive"))
    if (sent is None) == (received is None):
        return ""
    name = f"migrationID {(sent or received or {}).get('migrationID', '')}"
    if sent is None:
        return f" from another cluster ({name})"
    return f" to another cluster ({sent.get('connectURL', '')}, {name})"


_BLOCKED = {
    "migrationRejectedByResourceQuota": "a ResourceQuota rejects its target pod",
    "migrationBlockedByUtilityVolumes": "its VM has utility volumes",
    "migrationBlockedByBackup": "a backup of its VM runs",
    "decentralizedMigrationBlocked": "the other cluster blocks it",
}
"""Conditions that virt-controller sets on a Pending migration: it holds no slot, and starts none.

Source: VirtualMachineInstanceMigrationConditionType, and virt-controller's migration.go.
"""


def blocked_by(migration: KubernetesObject) -> str:
    """Why a waiting migration would not start in a free slot, in words; "" if it would."""
    waits = phase_of(migration) in _NOT_RUNNING
    if phase_of(migration) in _SYNCHRONIZING:
        return "it waits for the other cluster"
    found = (words for name, words in _BLOCKED.items() if condition_of(migration, name))
    return next(found, "") if waits else ""


def priority_of(migration: KubernetesObject) -> int:
    """Its priority in the queue: 100 drains and upgrades, 50, 20, and 0 for migrations of users."""
    return PRIORITIES.get(str(at(migration, "spec", "priority", default="")), 0)


def requeue_delay(migration: KubernetesObject) -> int:
    """Seconds until a migration that found no free slot tries again."""
    priority = priority_of(migration)
    if priority >= PRIORITIES["system-critical"]:
        return 1
    return 3 if priority >= PRIORITIES["user-triggered"] else 5


def unschedulable_timeout(migration: KubernetesObject) -> int:
    """Seconds until KubeVirt gives up a target pod that fits nowhere; 0 or less: immediately."""
    return _seconds(migration, names.UNSCHEDULABLE_TIMEOUT, UNSCHEDULABLE_TIMEOUT)


def pending_timeout(migration: KubernetesObject) -> int:
    """Seconds until KubeVirt gives up a target pod that does not start for any reason."""
    return _seconds(migration, names.PENDING_TIMEOUT, PENDING_TIMEOUT)


def utility_timeout(migration: KubernetesObject, kubevirt: KubernetesObject) -> int:
    """Seconds that a migration waits for utility volumes to detach."""
    configured = setting(kubevirt, "migrations", "utilityVolumesTimeout")
    default = UTILITY_TIMEOUT if configured is None else int(configured)
    return _seconds(migration, names.UTILITY_TIMEOUT, default)


def _seconds(migration: KubernetesObject, annotation: str, default: int) -> int:
    """An annotation that is not a plain number counts as absent."""
    text = annotations_of(migration).get(annotation, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else default
