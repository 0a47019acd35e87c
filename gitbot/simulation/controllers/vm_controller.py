"""Owners keep VMIs running: VirtualMachines, VMI replica sets, pools. Room kubevirt decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.simulation.controllers.reconciled import Reconciler, StoreView, Writer
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.reconcile_result import VMI, ObjectView, Reconciled
from gitbot.simulation.kubevirt.vm_owners import (
    VM_FINALIZER,
    reconcile_pool,
    reconcile_replica_set,
    reconcile_virtual_machine,
)
from gitbot.simulation.store import Change, Key, Store, with_metadata

Reconcile = Callable[[ObjectView, KubernetesObject, int], Reconciled]


class Owners(Reconciler):
    """One kind of owner; `owned` is the kind whose changes wake it."""

    def __init__(
        self,
        *,
        kind: str,
        owned: str,
        reconcile: Reconcile,
        store: Store,
        view: StoreView,
        writer: Writer,
        now: Callable[[], int],
    ) -> None:
        self.kinds = frozenset({kind, owned})
        super().__init__(store=store, view=view, writer=writer, now=now)
        self._kind = kind
        self._reconcile = reconcile

    def owns(self, kind: str) -> bool:
        return kind == self._kind

    def touched(self, change: Change) -> Iterable[Key]:
        """The owner itself, or the one that owns a changed object."""
        return [change.key] if change.kind == self._kind else owner_key(change, self._kind)

    def reconcile(self, key: Key) -> int | None:
        owner = self._store.find(self._kind, key)
        if owner is None:
            self._release(key)
            return None
        return self._writer.carry_out(key, self._reconcile(self._view, owner, self._now()))

    def _release(self, key: Key) -> None:
        """Remove the finalizer of a VMI whose VirtualMachine is gone: no other controller does."""
        vmi = self._store.find(VMI, key) if self._kind == "VirtualMachine" else None
        finalizers = at(vmi, "metadata", "finalizers", default=[])
        if vmi is not None and VM_FINALIZER in finalizers:
            kept = [text for text in finalizers if text != VM_FINALIZER]
            self._store.replace(with_metadata(vmi, finalizers=kept))


def owners(
    *, store: Store, view: StoreView, writer: Callable[[], Writer], now: Callable[[], int]
) -> tuple[Owners, ...]:
    kinds: tuple[tuple[str, str, Reconcile], ...] = (
        ("VirtualMachinePool", "VirtualMachine", reconcile_pool),
        ("VirtualMachine", VMI, reconcile_virtual_machine),
        ("VirtualMachineInstanceReplicaSet", VMI, reconcile_replica_set),
    )
    return tuple(
        Owners(
            kind=kind,
            owned=owned,
            reconcile=reconcile,
            store=store,
            view=view,
            writer=writer(),
            now=now,
        )
        for kind, owned, reconcile in kinds
    )
