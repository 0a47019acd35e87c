"""The life of VMIs: virt-controller's part and the boot on the node. Room kubevirt decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at
from gitbot.simulation.controllers.reconciled import Reconciler, StoreView, Writer
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.boot import BootTimes, reconcile_boot
from gitbot.simulation.kubevirt.reconcile_result import VMI
from gitbot.simulation.kubevirt.vmi_lifecycle import reconcile_instance
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Change, Key, Store

NOT_MIGRATABLE = "simulation.gitbot.dev/not-migratable"  # annotation: reason of LiveMigratable
MACHINE = "pc-q35-rhel9.6.0"
_NOT_SHARED = (
    "cannot migrate VMI: PVC is not shared, live migration requires that all PVCs must be shared "
    "(using ReadWriteMany access mode)"
)


class InstanceController(Reconciler):
    """Launcher pods, phases, boots and ends of VMIs."""

    kinds = frozenset({VMI, "Pod"})

    def __init__(
        self,
        *,
        store: Store,
        view: StoreView,
        writer: Writer,
        now: Callable[[], int],
        dials: Callable[[], SimulationSettings],
    ) -> None:
        super().__init__(store=store, view=view, writer=writer, now=now)
        self._dials = dials

    def touched(self, change: Change) -> Iterable[Key]:
        """The VMI itself, or the one that owns a changed launcher pod."""
        if change.kind == VMI:
            return [change.key] if change.type != "DELETED" else []
        return owner_key(change, VMI)

    def reconcile(self, key: Key) -> int | None:
        vmi = self._store.find(VMI, key)
        if vmi is None:
            return None
        answer = reconcile_instance(self._view, vmi, self._now())
        again = self._writer.carry_out(key, answer)
        current = self._store.find(VMI, key)
        if at(current, "status", "phase") != "Scheduled" or current is None:
            return again
        times = boot_times(current, self._dials())
        boot = reconcile_boot(with_guest_facts(current), self._now(), times)
        return self._writer.carry_out(key, boot)


def with_guest_facts(vmi: KubernetesObject) -> dict[str, Any]:
    """The VMI with the guest's facts from virt-handler: machine, CPUs, memory."""
    guest = at(vmi, "spec", "domain", "memory", "guest") or at(
        vmi, "spec", "domain", "resources", "requests", "memory", default="1Gi"
    )
    cpu = at(vmi, "spec", "domain", "cpu", default={})
    facts = {
        "migrationTransport": "Unix",
        "machine": {"type": MACHINE},
        "currentCPUTopology": {key: cpu.get(key, 1) for key in ("cores", "sockets", "threads")},
        "memory": {"guestAtBoot": guest, "guestCurrent": guest, "guestRequested": guest},
    }
    return {**vmi, "status": {**(vmi.get("status") or {}), **facts}}


def boot_times(vmi: KubernetesObject, dials: SimulationSettings) -> BootTimes:
    """How the guest boots; the annotation NOT_MIGRATABLE or a dial prevent its migration."""
    reason = annotations_of(vmi).get(NOT_MIGRATABLE)
    if dials.live_migratable and reason is None:
        return BootTimes(boot=dials.boot)
    refused = ("False", reason or "DisksNotLiveMigratable", _NOT_SHARED)
    stuck = {"LiveMigratable": refused, "StorageLiveMigratable": ("False", "NotMigratable", "")}
    return BootTimes(boot=dials.boot, conditions=stuck)
