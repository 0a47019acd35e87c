"""virt-controller's evacuation loop: evicted VMs become migrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.kubevirt.evacuation import reconcile_evacuation
from gitbot.kubevirt.limits import is_final
from gitbot.kubevirt.reconcile import MIGRATION, VMI
from gitbot.model.objects import KubernetesObject, at
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.store import Change, Key, Store, controller_of


class Evacuations:
    """Its keys are nodes; only those with a marked VMI or a taint are looked at."""

    kinds = frozenset({MIGRATION, VMI, "Node", "Pod"})

    def __init__(
        self, *, store: Store, view: StoreView, writer: Writer, now: Callable[[], int]
    ) -> None:
        self._store = store
        self._view = view
        self._writer = writer
        self._now = now

    def touched(self, change: Change) -> Iterable[Key]:
        """The node, or the node of a VMI that waits for its evacuation."""
        match change.kind:
            case "Node":
                return [change.key] if _has_taints(change.new) else []
            case "VirtualMachineInstance":
                return self._node_of(change.new)
            case "Pod":
                owner = controller_of(change.new)
                if owner is None or owner["kind"] != VMI:
                    return []
                name = owner["name"]
            case _:
                if change.type != "DELETED" and not is_final(change.new):
                    return []
                name = at(change.new, "spec", "vmiName", default="")
        return self._node_of(self._store.find(VMI, (change.key[0], name)))

    def _node_of(self, vmi: KubernetesObject | None) -> list[Key]:
        node = at(vmi, "status", "nodeName", default="")
        if not node:
            return []
        marked = at(vmi, "status", "evacuationNodeName")
        found = None if marked else self._store.find("Node", ("", node))
        return [("", node)] if marked or (found is not None and _has_taints(found)) else []

    def reconcile(self, key: Key) -> int | None:
        """One pass over one node."""
        node = self._store.find("Node", key)
        if node is None:
            return None
        return self._writer.carry_out(key, reconcile_evacuation(self._view, node, self._now()))


def _has_taints(node: KubernetesObject) -> bool:
    return bool(at(node, "spec", "taints"))
