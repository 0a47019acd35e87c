"""virt-controller's migration loop: room kubevirt decides, the store keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.kubernetes.objects import KubernetesObject, condition_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.limits import priority_of
from gitbot.simulation.controllers.reconciled import Reconciler, StoreView, Writer
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.migration_controller import reconcile_migration
from gitbot.simulation.kubevirt.reconcile_result import (
    MIGRATION,
    MIGRATIONS_OF_VMI,
    UNFINISHED,
    VMI,
)
from gitbot.simulation.kubevirt.target_creation import QUOTA_CONDITION
from gitbot.simulation.store import Change, Key, Store, key_of


class Migrations(Reconciler):
    """Reconciles VirtualMachineInstanceMigrations.

    `waits_for` has the reason why a migration does not go on; virt-controller writes it at most
    into its own log.
    """

    kinds = frozenset({MIGRATION, VMI, "Pod", "ResourceQuota"})

    def __init__(
        self, *, store: Store, view: StoreView, writer: Writer, now: Callable[[], int]
    ) -> None:
        super().__init__(store=store, view=view, writer=writer, now=now)
        self.waits_for: dict[Key, str] = {}

    def touched(self, change: Change) -> Iterable[Key]:
        """The migration; the migrations of a changed VMI or pod; the queue if a slot is free."""
        if change.kind == MIGRATION:
            return [change.key, *self._queue(change)] if change.type != "DELETED" else []
        if change.kind == VMI:
            return self._of_vmi(change.key)
        if change.kind == "ResourceQuota":
            waiting = self._view.list(MIGRATION, change.key[0])
            return [key_of(item) for item in waiting if condition_of(item, QUOTA_CONDITION)]
        return [key for vmi in owner_key(change, VMI) for key in self._of_vmi(vmi)]

    def _of_vmi(self, vmi: Key) -> list[Key]:
        return [key_of(item) for item in self._view.select(MIGRATIONS_OF_VMI, "/".join(vmi))]

    def _queue(self, change: Change) -> list[Key]:
        ended = is_final(change.new) and not (change.old is not None and is_final(change.old))
        if not ended:
            return []
        unfinished = self._view.select(UNFINISHED, "unfinished")
        waiting = (item for item in unfinished if phase_of(item) == "Pending")
        return [key_of(item) for item in by_priority(waiting)]

    def reconcile(self, key: Key) -> int | None:
        migration = self._store.find(MIGRATION, key)
        if migration is None:
            self.waits_for.pop(key, None)
            return None
        answer = reconcile_migration(self._view, migration, self._now())
        self.waits_for[key] = answer.waits_for
        return self._writer.carry_out(key, answer, self._waits(key))

    def _waits(self, key: Key) -> Callable[[str], None]:
        def note(why: str) -> None:
            self.waits_for[key] = why

        return note


def by_priority(pending: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    """KubeVirt does not order equal priorities; here they keep the given order."""
    return tuple(sorted(pending, key=lambda migration: -priority_of(migration)))
