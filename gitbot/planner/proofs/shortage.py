"""Whether some nodes have room for the VMs that must be there in the end, in portions of any size.

If x VMs of a size find room, so do they in portions of each unit: no node holds more whole portions
than its room has. So `sum(need // unit) <= sum(room // unit)` for every unit, or there is no plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.planner.proofs.capacity_model import CapacityModel

MOST_RESIDENTS = 2_000
"""Up to so many VMs on some nodes, each is checked for whether it could be elsewhere."""

PORTIONS = 16
"""How many sizes of VMs are tried as the unit for counting room."""

MOST_ROOMS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """`wanted` portions of `unit` are needed of a resource, and `there` portions exist.

    `beside` other VMs can be nowhere else; what they need is taken off `there`.
    """

    resource: str
    unit: int
    wanted: int
    there: int
    beside: int


@dataclass(slots=True, kw_only=True)
class CapacityCheck:
    """Room at the end of one quest: `must` are its VMs, and no VM arrives on a `closed` node.

    No other VM that `stays` moves.
    """

    ground: CapacityModel
    closed: Mask
    must: frozenset[NamespacedName]
    stays: Callable[[NamespacedName], bool]
    _confined: dict[int, tuple[Mask, Sequence[NamespacedName]]] = field(default_factory=dict)
    _left: dict[tuple[int, str, int], int] = field(default_factory=dict)
    _needs: dict[tuple[int, str], Numbers] = field(default_factory=dict)
    _sizes: dict[tuple[int, str], Counter[int]] = field(default_factory=dict)

    def shortage(
        self,
        mask: Mask,
        asks: Sequence[Mapping[str, int]],
        but: frozenset[NamespacedName] = frozenset(),
    ) -> Shortage | None:
        """What these nodes lack for pods with these requests, beside VMs that can be nowhere else.

        The VMs in `replace` are not counted among the latter. The mask is one of `ground.once`.
        """
        if self._enough(mask, asks):
            return None
        confined = self.confined(mask)
        inside = [self.ground.least(vm) for vm in confined if vm in but] if but else []
        for resource in sorted({name for item in asks for name in item}):
            needs = [item.get(resource, 0) for item in asks]
            back = [item.get(resource, 0) for item in inside]
            for unit in self._units(mask, resource, needs):
                wanted = sum(need // unit for need in needs)
                left = self._left_of(mask, resource, unit) + sum(need // unit for need in back)
                if wanted > left and wanted:
                    return Shortage(
                        resource=resource,
                        unit=unit,
                        wanted=wanted,
                        there=left,
                        beside=len(confined) - len(inside),
                    )
        return None

    def _enough(self, mask: Mask, asks: Sequence[Mapping[str, int]]) -> bool:
        """Whether there is room even if no VM on these nodes can leave them.

        Quick: it does not work out where each of them could be.
        """
        for resource in sorted({name for item in asks for name in item}):
            needs = np.array([item.get(resource, 0) for item in asks], dtype=np.int64)
            base, taken = self.ground.base(resource)[mask], self._taken(mask, resource)
            for unit in sorted({1, *needs.tolist(), *taken} - {0}):
                there = int((base // unit).sum()) - sum(
                    size // unit * count for size, count in taken.items()
                )
                if int((needs // unit).sum()) > there:
                    return False
        return True

    def _taken(self, mask: Mask, resource: str) -> Counter[int]:
        """How much of a resource the other VMs on these nodes need, by amount."""
        found = self._sizes.get((id(mask), resource))
        if found is None:
            least = self.ground.least
            found = Counter(least(vm).get(resource, 0) for vm in self._there(mask))
            self._sizes[id(mask), resource] = found
        return found

    def _there(self, mask: Mask) -> list[NamespacedName]:
        """The other VMs on these nodes."""
        numbers, on = np.flatnonzero(mask).tolist(), self.ground.on
        return [vm for number in numbers for vm in on.get(number, ()) if vm not in self.must]

    def confined(self, mask: Mask) -> Sequence[NamespacedName]:
        """The other VMs on these nodes that cannot leave them."""
        known = self._confined.get(id(mask))
        if known is None:
            if len(self._confined) >= MOST_ROOMS:
                self._confined.clear()
                self._left.clear()
                self._needs.clear()
                self._sizes.clear()
            known = self._confined[id(mask)] = (mask, self._found(mask))
        return known[1]

    def _found(self, mask: Mask) -> Sequence[NamespacedName]:
        there = self._there(mask)
        if not (~self.closed & ~mask).any():
            return there
        if len(there) > MOST_RESIDENTS:
            return ()
        return [vm for vm in there if self._stays(vm, mask)]

    def _stays(self, vm: NamespacedName, mask: Mask) -> bool:
        elsewhere = self.ground.without(
            self.ground.without(self.ground.nodes(vm), self.closed), mask
        )
        return not elsewhere.any() or self.stays(vm)

    def _units(self, mask: Mask, resource: str, needs: Sequence[int]) -> list[int]:
        """1 for the sum, then sizes of VMs, largest first."""
        sizes = {*needs, *np.unique(self._needed(mask, resource)).tolist()} - {0, 1}
        return [1, *sorted(sizes, reverse=True)[:PORTIONS]]

    def _needed(self, mask: Mask, resource: str) -> Numbers:
        found = self._needs.get((id(mask), resource))
        if found is None:
            needs = [self.ground.least(vm).get(resource, 0) for vm in self.confined(mask)]
            found = self._needs[id(mask), resource] = np.array(needs, dtype=np.int64)
        return found

    def _left_of(self, mask: Mask, resource: str, unit: int) -> int:
        found = self._left.get((id(mask), resource, unit))
        if found is None:
            there = int((self.ground.base(resource)[mask] // unit).sum())
            found = there - int((self._needed(mask, resource) // unit).sum())
            self._left[id(mask), resource, unit] = found
        return found
