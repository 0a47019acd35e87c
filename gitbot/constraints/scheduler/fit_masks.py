"""Which nodes have room, for each distinct list of requests; updated as pods are added and removed.

A pod changes one node. So the results for all nodes (room for some requests, and the scores that
depend on requests) are corrected for that node and not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gitbot.model.cluster.columns import Mask, NodeColumns, Numbers

PODS = "pods"
Asked = tuple[tuple[str, int], ...]
"""Resource and amount, sorted; amounts above 0."""

_MOST_KEPT = 512
_MOST_TOUCHED = 100_000
_FEW = 8  # up to one changed node in so many is corrected; with more, all nodes are computed again


class FitMasks:
    """Arrays over nodes by request, each with the changes that it includes. Read-only.

    An array is corrected in place once no fork shares it: use it before the next pod moves.
    """

    __slots__ = ("_kept", "_own", "_size", "_touched")

    def __init__(self, size: int) -> None:
        self._kept: dict[Hashable, tuple[Any, int]] = {}
        self._own: set[Hashable] = set()  # keys of arrays that no fork shares
        self._touched: list[int] = []  # nodes in the order of changes
        self._size = size

    def fork(self) -> FitMasks:
        if not self._kept:
            self._touched = []
        copy = FitMasks(self._size)
        copy._kept, copy._touched = dict(self._kept), list(self._touched)
        self._own = set()
        return copy

    def touch(self, number: int) -> None:
        if len(self._touched) >= _MOST_TOUCHED:
            self._kept, self._own, self._touched = {}, set(), []
        self._touched.append(number)

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
        now = len(self._touched)
        if known is not None and seen == now:
            return known
        changed = {*self._touched[seen:]} if known is not None and now - seen < self._size else ()
        if known is None or not 0 < len(changed) <= self._size // _FEW:
            known = compute(slice(None))
            self._own.add(key)
        else:
            numbers = np.array([*changed], dtype=np.int64)
            if key not in self._own:
                known = known.copy()
                self._own.add(key)
            known.flags.writeable = True
            known[numbers] = compute(numbers)
        known.flags.writeable = False
        if len(self._kept) >= _MOST_KEPT and key not in self._kept:
            self._kept, self._own = {}, {key}
        self._kept[key] = (known, now)
        return known
