"""SpreadPart as counts by domain: the skew after a move to any domain, at its start and end."""

from __future__ import annotations

import numpy as np

from gitbot.constraints.rules.node_domains import NodeDomains
from gitbot.constraints.rules.rule_parts import SpreadPart
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, NodeColumns, Numbers

_Nodes = frozenset[str]
_HUGE = 2**62


class SpreadCounts:
    """SpreadPart: no domain where the skew would exceed both its present value and the maximum."""

    def __init__(self, part: SpreadPart, columns: NodeColumns) -> None:
        self._part = part
        self._domains = NodeDomains(columns, part.constraint.topology_key)
        size = len(self._domains.column.values)
        self._counts = np.zeros(size, dtype=np.int64)
        inside = np.isin(np.array(columns.names), list(part.nodes))
        self._counting = np.where(inside, self._domains.column.ids, -1)
        self._eligible = self._domains.table(self._domains.of(part.nodes) - {-1})[:size]
        for node in part.fixed:
            for domain in self._domains.of((node,)) - {-1}:
                self._counts[domain] += 1

    def fork(self) -> SpreadCounts:
        copy = object.__new__(SpreadCounts)
        copy._part, copy._domains = self._part, self._domains
        copy._counting, copy._eligible = self._counting, self._eligible
        copy._counts = self._counts.copy()
        return copy

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        if vm in self._part.counted:
            old, new = self._counted(before), self._counted(after)
            self._counts[list(old - new)] -= 1
            self._counts[list(new - old)] += 1

    def keep(self, mask: Mask, vm: NamespacedName, _source: str, held: _Nodes) -> None:
        if vm not in self._part.counted:
            return
        limit = max(self._excess(self._counts), 0)
        here = self._counted(held)
        left = self._counts.copy()
        left[list(here)] -= 1
        both = self._with_one_more(self._counts)
        both[list(here)] = both[-1]  # counted there already
        worst = np.maximum(both, self._with_one_more(left))
        mask &= (worst <= limit)[self._counting]

    def _counted(self, nodes: _Nodes) -> set[int]:
        return self._domains.of(nodes & self._part.nodes) - {-1}

    def _present(self, counts: Numbers) -> Mask:
        present: Mask = self._eligible | (counts > 0)
        return present

    def _excess(self, counts: Numbers) -> int:
        """The skew above the maximum; at most 0 if the part holds."""
        present = self._present(counts)
        if not present.any():
            return 0
        found = counts[present]
        enough = len(found) >= self._part.constraint.min_domains
        least = int(found.min()) if enough else 0
        return int(found.max()) - least - self._part.constraint.max_skew

    def _with_one_more(self, counts: Numbers) -> Numbers:
        """The excess with one more VM in each domain (last: in none), shape (domains + 1,)."""
        present = self._present(counts)
        before = self._excess(counts)
        lowest = np.sort(np.append(np.where(present, counts, _HUGE), [_HUGE, _HUGE]))[:2]
        others = np.where(present & (counts == lowest[0]), lowest[1], lowest[0])
        least = np.minimum(others, counts + 1)
        domains = np.count_nonzero(present) + ~present
        least[domains < self._part.constraint.min_domains] = 0
        most = np.maximum(counts[present].max(initial=0), counts + 1)
        return np.append(most - least - self._part.constraint.max_skew, before)
