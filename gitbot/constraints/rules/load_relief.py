"""Nodes above a measured load, as a wish: one VM leaves each of them, and no VM moves there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.text.names import IntentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRelief(NoMaximum):
    """One VM leaves each hot node; only the next measurement shows whether more must leave.

    `hot` maps nodes to their measurement, in words; `here` to their VMs that may leave, or to those
    that cannot if there are no others. Breach keys: `node=<name>` while all of them are still
    there, and `arrived:<namespace>/<vm>` for a member on a hot node where it was not. `left` are
    those with another place there, such as an old launcher pod: they did not arrive.
    """

    ref: IntentRef
    hot: Mapping[str, str]
    here: Mapping[str, frozenset[NamespacedName]]
    members: frozenset[NamespacedName]
    left: Mapping[str, frozenset[NamespacedName]] = field(default_factory=dict)
    required: bool = False
    parts: ClassVar[tuple[object, ...]] = ()

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        found = []
        for node, words in self.hot.items():
            vms = self.here.get(node, frozenset())
            if vms and all(node in occupancy.get(vm, ()) for vm in vms):
                found.append(self._breach(f"node={node}", words, tuple(sorted(vms))))
        for vm in sorted(self.members & occupancy.keys()):
            for node in sorted(occupancy[vm] & self.hot.keys()):
                if vm not in self.here.get(node, ()) and vm not in self.left.get(node, ()):
                    words = f"{vm.name} came to {self.hot[node]}"
                    found.append(self._breach(f"arrived:{vm}", words, (vm,)))
        return tuple(sorted(found))

    def explain(self, _vm: NamespacedName, node: str, _occupancy: Occupancy) -> str:
        return self.hot.get(node, "")

    @property
    def monotone(self) -> bool:
        return True

    def signature(self, node: str) -> object:
        return node if node in self.hot else ""

    def _breach(self, key: str, message: str, vms: tuple[NamespacedName, ...]) -> Breach:
        return Breach(rule=self.ref, key=key, amount=1, message=message, vms=vms)
