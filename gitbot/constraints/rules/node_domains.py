"""The domains of one topology key as numbers, to count VMs by domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import repeat

import numpy as np

from gitbot.model.cluster.columns import Mask, NodeColumns


class NodeDomains:
    """Node names to domain numbers; -1 for an unknown node, or one without the label."""

    def __init__(self, columns: NodeColumns, key: str) -> None:
        self.column = columns.label(key)
        self._of = columns.domains(key)

    def of(self, nodes: Iterable[str]) -> set[int]:
        return set(map(self._of.get, nodes, repeat(-1)))

    def count(self, counter: dict[int, int], before: Collection[str], after: Iterable[str]) -> None:
        """Count one VM once in each labelled domain of `after`, no longer in those of `before`."""
        old, new = self.of(before) if before else _NONE, self.of(after)
        for domain in old - new:
            if domain >= 0:
                left = counter[domain] - 1
                if left:
                    counter[domain] = left
                else:
                    del counter[domain]
        for domain in new - old:
            if domain >= 0:
                counter[domain] = counter.get(domain, 0) + 1

    def leave(self, mask: Mask, domains: Iterable[int]) -> None:
        """Clear the nodes of these domains."""
        listed = list(domains)
        if len(listed) <= _FEW:
            self.column.leave_domains(mask, listed)
        else:
            mask &= ~self.table(listed)[self.column.ids]

    def table(self, domains: Iterable[int]) -> Mask:
        """True for these domains: shape (domains + 1,), the last for nodes without the label."""
        table = np.zeros(len(self.column.values) + 1, dtype=bool)
        table[list(domains)] = True
        return table

    def leave_unlabelled(self, mask: Mask) -> None:
        mask &= self.column.known


_NONE: frozenset[int] = frozenset()
_FEW = 32  # with fewer domains than this, clear one by one
