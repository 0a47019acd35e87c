"""The readiness gate of launcher pods: virt-controller opens it while the guest runs unpaused.

Source: KubeVirt 1.9, pkg/virt-controller/watch/vmi/lifecycle.go. The simulator's kubelet asks no
gates; a real controller of disruption budgets counts only pods that are Ready.
"""

from collections.abc import Callable, Iterable

from gitbot.kubernetes.objects import condition_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.launchers import current_pod
from gitbot.simulation.kubevirt.reconcile_result import VMI, Reconciled, Update
from gitbot.simulation.kubevirt.status_writes import with_condition
from gitbot.simulation.store import Change, Key, Store

GATE = "kubevirt.io/virtual-machine-unpaused"


class Readiness:
    """Its keys are VMIs."""

    kinds = frozenset({VMI, "Pod"})

    def __init__(
        self, *, store: Store, view: StoreView, writer: Writer, now: Callable[[], int]
    ) -> None:
        self._store = store
        self._view = view
        self._writer = writer
        self._now = now

    def touched(self, change: Change) -> Iterable[Key]:
        """The VMI, or the one that owns a launcher pod."""
        if change.kind == VMI:
            return [change.key] if change.type != "DELETED" else []
        return owner_key(change, VMI)

    def reconcile(self, key: Key) -> int | None:
        """Write the condition where it is not what it should be."""
        vmi = self._store.find(VMI, key)
        pod = current_pod(self._view, vmi) if vmi is not None else None
        if vmi is None or pod is None or is_final(pod) or is_deleting(pod):
            return None
        paused = (condition_of(vmi, "Paused") or {}).get("status") == "True"
        wanted = "True" if phase_of(vmi) == "Running" and not paused else "False"
        if (condition_of(pod, GATE) or {}).get("status", "False") == wanted:
            return None
        changed = with_condition(pod, GATE, wanted, self._now())
        write = Update(object=changed, subresource="status")
        return self._writer.carry_out(key, Reconciled(writes=(write,)))
