"""What a live migration copies, and how long that is assumed to take.

Every plan prints the assumption: the guest's memory, and the volumes whose migration waits, cross
the network once at the configured bandwidth, or at KubeVirt's limit for this VM where that is
lower, plus a fixed time for the start of the target pod and the hand-over. It ignores what the
guest writes meanwhile; checks say what that adds, if it is measured, and how long the last one
took. Estimates do not follow these: they decide the order of moves, which a person approves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, name_of
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.migration_policy import (
    compression,
    matching_policy,
    migration_settings,
    most_bandwidth,
    time_to_copy,
)
from gitbot.model.cluster.load import DirtyRate
from gitbot.model.plan.diagnosis import (
    BANDWIDTH,
    DIRTY_RATE,
    LAST_MIGRATION,
    STORAGE,
    Check,
    passed,
    warned,
)
from gitbot.model.plan.problem import PastMigrations, PlacementProblem
from gitbot.model.text.decoding import decoding
from gitbot.model.text.wording import counted, first_of

OVERHEAD_SECONDS = 20
"""Seconds of every migration that do not depend on its data: target pod, set-up, hand-over."""

_GIB = 2**30
_MINUTE = 60
_MEMORY = (
    ("status", "memory", "guestCurrent"),
    ("spec", "domain", "memory", "guest"),
    ("spec", "domain", "resources", "requests", "memory"),
    ("spec", "domain", "resources", "limits", "memory"),
)


def memory_of(vmi: KubernetesObject) -> int:
    """Bytes of guest memory: the amount plugged now, else the spec's, else the request."""
    for path in _MEMORY:
        found = at(vmi, *path)
        if found is not None:
            return whole(found)
    return 0


def migrating_volumes(vmi: KubernetesObject) -> Mapping[str, int]:
    """Bytes of the volumes that the next migration of a VMI copies to other claims, by name.

    That migration also ends the change of storage, no matter who starts it. Source: virt-launcher's
    manager.go, getVMIMigrationDataSize, with storage/types/pvc.go, GetDiskCapacity; virt-handler's
    migration-target.go, removeMigratedVolumes. A size that the VMI does not say is 0.
    """
    change = condition_of(vmi, "VolumesChange") or {}
    if change.get("status") != "True":
        return {}
    volumes = at(vmi, "status", "migratedVolumes", default=())
    return {str(item.get("volumeName")): _size(item.get("sourcePVCInfo")) for item in volumes}


def _size(claim: Any) -> int:
    sizes = [at(claim, key, "storage") for key in ("capacity", "requests")]
    return min((whole(size) for size in sizes if size is not None), default=0)


def ephemeral_disks(vmi: KubernetesObject) -> Mapping[str, int]:
    """The disks in the launcher pod that a block migration copies as far as they are written.

    By name: their most bytes, 0 if they have no capacity of their own.
    """
    if at(vmi, "status", "migrationMethod") != "BlockMigration":
        return {}
    return {
        str(volume.get("name")): whole(at(volume, "emptyDisk", "capacity", default=0))
        for volume in at(vmi, "spec", "volumes", default=())
        if not {"emptyDisk", "containerDisk", "ephemeral"}.isdisjoint(volume)
    }


def estimate(data: int, bandwidth: int) -> int:
    """Seconds that a migration of `data` bytes takes at `bandwidth` bytes a second."""
    return -(-data // max(1, bandwidth)) + OVERHEAD_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """How one VM is assumed to be copied, by the settings that its migration gets.

    `bandwidth` is in bytes a second, `limited_by` what makes it lower than the configured one, ""
    if nothing does. KubeVirt acts after `patience` seconds of copying, 0 for never: see `then`.
    """

    memory: int
    bandwidth: int
    limited_by: str
    patience: int
    then: str
    volumes: Mapping[str, int]
    disks: Mapping[str, int]
    compression: str = ""
    dirty: DirtyRate | None = None
    past: PastMigrations | None = None

    @property
    def seconds(self) -> int:
        return estimate(self.memory + sum(self.volumes.values()), self.bandwidth)

    @property
    def took_longer(self) -> bool:
        """Whether the VM's last migration took much longer than is estimated now."""
        before = self.past.seconds if self.past is not None else 0
        return before - self.seconds >= max(_MINUTE, self.seconds // 2)

    @property
    def with_writes(self) -> int:
        """The seconds of copying what the guest writes, too; 0 if unknown or if it never ends."""
        rate, copying = self.dirty.rate if self.dirty else 0, self.seconds - OVERHEAD_SECONDS
        lasts = 0 < rate < self.bandwidth
        return -(-copying * self.bandwidth // (self.bandwidth - rate)) if lasts else 0

    @property
    def longest(self) -> int:
        """The most seconds to expect: as estimated, as the last time, or with what is written."""
        before = self.past.seconds if self.took_longer and self.past is not None else 0
        return max(self.seconds, before, self.with_writes + OVERHEAD_SECONDS)

    def checks(self) -> tuple[Check, ...]:
        what = "memory"
        if self.volumes:
            what += f" and {_named(self.volumes)}"
        text = (
            f"{self.seconds} s: {what} once at {_rate(self.bandwidth)},"
            f" and {OVERHEAD_SECONDS} s for target pod and hand-over"
        )
        if self.compression:
            text += f"; compressed by {self.compression}, so it may take less"
        found = [passed("estimate", text)]
        if self.volumes:
            words = f"it ends a change of storage: the next migration copies {_named(self.volumes)}"
            found.append(warned(STORAGE, words))
        if self.disks:
            words = f"what the guest wrote to {_named(self.disks)} is copied as well, not estimated"
            large = sum(self.disks.values()) > 0
            found.append((warned if large else passed)("ephemeral-disks", words))
        if self.limited_by:
            limit = f"{self.limited_by} allows no more than {_rate(self.bandwidth)}"
            found.append(passed(BANDWIDTH, limit))
        copying = self.seconds - OVERHEAD_SECONDS
        if 0 < self.patience < copying:
            late = f"copying takes {copying} s, and after {self.patience} s KubeVirt {self.then}"
            found.append(warned("completion-timeout", late))
        if self.dirty is not None and self.dirty.rate:
            found.append(self._written(self.dirty.rate, copying))
        if self.past is not None:
            words = f"last took {self.past.seconds} s ({counted(self.past.count, 'move')})"
            found.append((warned if self.took_longer else passed)(LAST_MIGRATION, words))
        return tuple(found)

    def _written(self, rate: int, copying: int) -> Check:
        """What the guest writes is copied again, and what it writes meanwhile, and so on."""
        words = f"the guest writes {rate / 2**20:.1f} MiB/s (Prometheus)"
        if rate >= self.bandwidth:
            then = f", so after {self.patience} s KubeVirt {self.then}" if self.patience else ""
            return warned(DIRTY_RATE, f"{words}, as fast as it is copied or faster{then}")
        longer = self.with_writes
        words = f"{words}: copying takes about {longer} s instead of {copying} s"
        if 0 < self.patience < longer:
            late = f"{words}, and after {self.patience} s KubeVirt {self.then}"
            return warned(DIRTY_RATE, late)
        return passed(DIRTY_RATE, words)


class Copies:
    """The copies of a problem's VMs, each worked out once."""

    def __init__(self, problem: PlacementProblem) -> None:
        instances = Instances.of(problem.snapshot)
        self._bandwidth = problem.bandwidth
        self._dirty = {item.vm: item for item in problem.load.dirty}
        self._took = problem.took
        self._kubevirt, self._namespaces = instances.kubevirt, instances.namespaces
        self._policies = problem.snapshot.of("MigrationPolicy")
        self._settings: dict[str, dict[str, Any]] = {}
        self._known: dict[NamespacedName, Copy] = {}

    def of(self, vm: NamespacedName, vmi: KubernetesObject) -> Copy:
        known = self._known.get(vm)
        if known is None:
            namespace = self._namespaces.get(vm.namespace, {})
            known = self._known[vm] = self._copy(
                vmi, matching_policy(self._policies, vmi, namespace)
            )
        return known

    def _copy(self, vmi: KubernetesObject, policy: KubernetesObject | None) -> Copy:
        memory, volumes, disks = memory_of(vmi), migrating_volumes(vmi), ephemeral_disks(vmi)
        name = "" if policy is None else name_of(policy).name
        source = f"MigrationPolicy {name}" if name else "the KubeVirt object"
        with decoding("MigrationPolicy" if name else "KubeVirt", policy or self._kubevirt):
            if name not in self._settings:
                self._settings[name] = migration_settings(self._kubevirt, policy)
            settings = self._settings[name]
            most = most_bandwidth(settings)
            patience = time_to_copy(settings, memory + sum(volumes.values()))
        limited = 0 < most < self._bandwidth
        return Copy(
            memory=memory,
            bandwidth=most if limited else self._bandwidth,
            limited_by=source if limited else "",
            patience=patience,
            then=_then(settings),
            compression=compression(settings),
            volumes=volumes,
            disks=disks,
            dirty=self._dirty.get(name_of(vmi)),
            past=self._took.get(name_of(vmi)),
        )


def volume_words(volumes: Mapping[str, int]) -> str:
    """`volume root (80 GiB)`, or several of them."""
    return f"{'volume' if len(volumes) == 1 else 'volumes'} {_named(volumes)}"


def _named(sizes: Mapping[str, int]) -> str:
    def shown(name: str, size: int) -> str:
        return f"{name} ({round(size / _GIB, 1):g} GiB)" if size else name

    return first_of([shown(name, size) for name, size in sorted(sizes.items())], 3)


def _then(settings: Mapping[str, Any]) -> str:
    """Source: live-migration-source.go, handleLegacyConvergence: a switch is a disruption, too."""
    if settings["allowWorkloadDisruption"]:
        if settings["allowPostCopy"]:
            return "switches to post-copy: the guest runs slowly until all is copied"
        return "pauses the guest until all is copied"
    each = settings["completionTimeoutPerGiB"]
    return f"gives up (completionTimeoutPerGiB {each}): allow more bandwidth, or more time"


def _rate(bandwidth: int) -> str:
    mib, rest = divmod(bandwidth, 1024 * 1024)
    return f"{bandwidth} B/s" if rest else f"{mib} MiB/s"
