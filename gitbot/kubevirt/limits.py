"""KubeVirt's limits on migrations: how many at once, in which order, for how long.

Source: KubeVirt 1.9.0, pkg/virt-config/virt-config.go, pkg/util/migrations/migrations.go,
pkg/virt-controller/watch/migration/migration.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.kubevirt import names
from gitbot.kubevirt.configuration import setting
from gitbot.kubevirt.reconcile import FINAL_PHASES
from gitbot.model.decoding import decoding
from gitbot.model.objects import KubernetesObject, annotations_of, at

PARALLEL = 5
PER_SOURCE = 2
UNSCHEDULABLE_TIMEOUT = 300
PENDING_TIMEOUT = 900
UTILITY_TIMEOUT = 150
KEPT_FINISHED = 5
BACKOFF = 20
PRIORITIES = {"system-critical": 100, "user-triggered": 50, "system-maintenance": 20}
_NOT_RUNNING = ("", "Pending", "WaitingForSync", "Synchronizing", *FINAL_PHASES)


def limits_of(kubevirt: KubernetesObject) -> tuple[int, int]:
    """Migrations at once in the cluster, and out of one node. SnapshotError where malformed."""
    migrations = setting(kubevirt, "migrations", default={})
    with decoding("KubeVirt", kubevirt):
        return (
            int(at(migrations, "parallelMigrationsPerCluster", default=PARALLEL)),
            int(at(migrations, "parallelOutboundMigrationsPerNode", default=PER_SOURCE)),
        )


def phase_of(obj: KubernetesObject) -> str:
    """The phase in an object's status, "" where it has none yet."""
    return str(at(obj, "status", "phase", default=""))


def is_final(migration: KubernetesObject) -> bool:
    """Whether a migration has succeeded or failed."""
    return phase_of(migration) in FINAL_PHASES


def is_running(migration: KubernetesObject) -> bool:
    """Whether a migration counts against the limits by its phase alone.

    One in Pending counts too once its target pod exists; that needs the pods to see.
    """
    return phase_of(migration) not in _NOT_RUNNING


def priority_of(migration: KubernetesObject) -> int:
    """Its place in the queue: 100 drains and upgrades, 50, 20, and 0 for every user's."""
    return PRIORITIES.get(str(at(migration, "spec", "priority", default="")), 0)


def requeue_delay(migration: KubernetesObject) -> int:
    """Seconds after which a migration that found no free slot looks again."""
    priority = priority_of(migration)
    if priority >= PRIORITIES["system-critical"]:
        return 1
    return 3 if priority >= PRIORITIES["user-triggered"] else 5


def by_priority(pending: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    """Waiting migrations in the order in which they are asked when a slot comes free.

    Equal priorities have no order in KubeVirt; here they keep the order given.
    """
    return tuple(sorted(pending, key=lambda migration: -priority_of(migration)))


def unschedulable_timeout(migration: KubernetesObject) -> int:
    """Seconds until a target pod that fits nowhere is given up; 0 or less means at once."""
    return _seconds(migration, names.UNSCHEDULABLE_TIMEOUT, UNSCHEDULABLE_TIMEOUT)


def pending_timeout(migration: KubernetesObject) -> int:
    """Seconds until a target pod that does not start for any reason is given up."""
    return _seconds(migration, names.PENDING_TIMEOUT, PENDING_TIMEOUT)


def utility_timeout(migration: KubernetesObject, kubevirt: KubernetesObject) -> int:
    """Seconds that a migration waits for utility volumes to leave."""
    configured = setting(kubevirt, "migrations", "utilityVolumesTimeout")
    default = UTILITY_TIMEOUT if configured is None else int(configured)
    return _seconds(migration, names.UTILITY_TIMEOUT, default)


def _seconds(migration: KubernetesObject, annotation: str, default: int) -> int:
    """An annotation that is no plain number counts as absent."""
    text = annotations_of(migration).get(annotation, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else default


def estimate_seconds(memory_bytes: int, bandwidth: int) -> int:
    """Seconds of a memory copy at `bandwidth` bytes a second, at least one.

    The assumption: every byte of guest memory crosses the network once, none twice. A guest that
    writes faster than that needs longer; KubeVirt gives up after completionTimeoutPerGiB.
    """
    return max(1, -(-memory_bytes // max(1, bandwidth)))
