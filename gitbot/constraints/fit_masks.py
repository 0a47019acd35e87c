"""Which nodes have room, for each distinct list of requests; updated as pods come and go.

A pod that comes or leaves touches one node. So the results for all nodes (room for some requests,
and the scores that depend on requests) are corrected there and not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gitbot.model.columns import Mask, NodeColumns, Numbers

PODS = "pods"
Asked = tuple[tuple[str, int], ...]
"""Resource and amount, sorted; amounts above 0."""

_MOST_KEPT = 512
_FEW = 8  # corrects at most one node in so many; with more changes it computes all nodes again


class FitMasks:
    """Arrays over nodes by request, each with the time of its last correction. Read-only."""

    __slots__ = ("_kept", "_time", "_touched")

    def __init__(self, size: int) -> None:
        self._kept: dict[Hashable, tuple[Any, int]] = {}
        self._touched = np.zeros(size, dtype=np.int64)  # when each node was touched last
        self._time = 0

    def fork(self) -> FitMasks:
        copy = FitMasks(0)
        copy._kept, copy._touched, copy._time = dict(self._kept), self._touched.copy(), self._time
        return copy

    def touch(self, number: int) -> None:
        self._time += 1
        self._touched[number] = self._time

    def mask(self, asked: Asked, columns: NodeColumns, column: Callable[[str], Numbers]) -> Mask:
        """Nodes with room for one more pod with these requests; `column` returns what is used."""

        def room(numbers: Any) -> Mask:
            mask: Mask = column(PODS)[numbers] < columns.allocatable(PODS)[numbers]
            for name, amount in asked:
                mask &= column(name)[numbers] + amount <= columns.allocatable(name)[numbers]
            return mask

        found: Mask = self.kept(asked, room)
        return found

    def kept(self, key: Hashable, compute: Callable[[Any], Any]) -> Any:
        """What `compute` returns for all nodes, shape (nodes,). Touched nodes are computed again.

        `compute` gets node numbers, or a slice of all nodes, and must use only those nodes.
        """
        known, seen = self._kept.get(key, (None, 0))
        if known is not None and seen == self._time:
            return known
        numbers = np.flatnonzero(self._touched > seen)
        if known is None or len(numbers) > len(self._touched) // _FEW:
            found = compute(slice(None))
        else:
            found = known.copy()
            found[numbers] = compute(numbers)
        found.flags.writeable = False
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = (found, self._time)
        return found
