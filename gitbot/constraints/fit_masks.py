"""Which nodes have room, for each distinct list of requests; kept up as pods come and go.

The incremental form of NodeResourcesFit: a pod that comes or leaves touches one node, so that a
known mask is corrected there instead of taken anew.
"""

from __future__ import annotations

from collections.abc import Callable

from gitbot.model.columns import Mask, NodeColumns, Numbers

PODS = "pods"
Asked = tuple[tuple[str, int], ...]
"""Resource and amount, sorted; amounts above 0."""

_MOST_MASKS = 256
_MOST_TOUCHED = 4_096  # remembered; more than that since it was taken, and a mask is made anew
_MOST_CORRECTED = 64


class FitMasks:
    """Masks by request, each with how many touches it has seen. A mask is never written to."""

    __slots__ = ("_masks", "_touched")

    def __init__(self) -> None:
        self._masks: dict[Asked, tuple[Mask, int]] = {}
        self._touched: list[int] = []

    def fork(self) -> FitMasks:
        """An independent copy; the masks are shared."""
        copy = FitMasks()
        copy._masks = dict(self._masks)
        copy._touched = list(self._touched)
        return copy

    def touch(self, number: int) -> None:
        """What the node of that number holds has changed."""
        if not self._masks:
            return
        if len(self._touched) >= _MOST_TOUCHED:
            self._masks.clear()
            self._touched.clear()
            return
        self._touched.append(number)

    def mask(self, asked: Asked, columns: NodeColumns, column: Callable[[str], Numbers]) -> Mask:
        """Nodes with room for one more pod that asks for this; `column` is what is used."""
        known, seen = self._masks.get(asked, (None, 0))
        touched = self._touched[seen:]
        if known is not None and not touched:
            return known
        if known is None or len(touched) > _MOST_CORRECTED:
            mask: Mask = column(PODS) < columns.allocatable(PODS)
            for name, amount in asked:
                mask &= column(name) + amount <= columns.allocatable(name)
        else:
            mask = known.copy()
            limits = [(column(PODS), 1, columns.allocatable(PODS))]
            limits += [(column(name), amount, columns.allocatable(name)) for name, amount in asked]
            for number in set(touched):
                mask[number] = _has_room(limits, number)
        mask.flags.writeable = False
        if len(self._masks) >= _MOST_MASKS:
            self._masks.clear()
        self._masks[asked] = (mask, len(self._touched))
        return mask


def _has_room(limits: list[tuple[Numbers, int, Numbers]], number: int) -> bool:
    for used, amount, allocatable in limits:
        if used.item(number) + amount > allocatable.item(number):
            return False
    return True
