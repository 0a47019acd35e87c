"""virt-controller's evacuation loop: evicted VMs become migrations."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.phases import is_final
from gitbot.simulation.controllers.reconciled import Reconciler
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.evacuation import reconcile_evacuation
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.store import Change, Key


class Evacuations(Reconciler):
    """Its keys are nodes; it looks only at those with a marked VMI or a taint."""

    kinds = frozenset({MIGRATION, VMI, "Node", "Pod"})

    def touched(self, change: Change) -> Iterable[Key]:
        """The node, or the node of a VMI that waits for its evacuation."""
        match change.kind:
            case "Node":
                return [change.key] if _has_taints(change.new) else []
            case "VirtualMachineInstance":
                return self._node_of(change.new)
            case "Pod":
                keys = owner_key(change, VMI)
            case _:
                ended = change.type == "DELETED" or is_final(change.new)
                name = at(change.new, "spec", "vmiName", default="")
                keys = [(change.key[0], name)] if ended else []
        return [node for key in keys for node in self._node_of(self._store.find(VMI, key))]

    def _node_of(self, vmi: KubernetesObject | None) -> list[Key]:
        node = at(vmi, "status", "nodeName", default="")
        if not node:
            return []
        marked = at(vmi, "status", "evacuationNodeName")
        found = None if marked else self._store.find("Node", ("", node))
        return [("", node)] if marked or (found is not None and _has_taints(found)) else []

    def reconcile(self, key: Key) -> int | None:
        node = self._store.find("Node", key)
        if node is None:
            return None
        return self._writer.carry_out(key, reconcile_evacuation(self._view, node))


def _has_taints(node: KubernetesObject) -> bool:
    return bool(at(node, "spec", "taints"))
