"""The part of a verdict that other pods do not change: one mask for pods with equal demands.

Node name, taints and node affinity depend only on nodes; binding and zones of volumes on nodes and
claims. Their common answer is computed once for each distinct demand and kept with the facts, which
all forks of a world share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod

_MOST_MASKS = 2_000
_MOST_PODS = 20_000


class StandingMasks:
    """Masks by demand. A pod that was checked before is found by identity. All are read-only."""

    __slots__ = ("_by_demand", "_by_pod", "_equal")

    def __init__(self) -> None:
        self._by_demand: dict[object, Mask] = {}
        self._by_pod: dict[int, tuple[Pod, Mask]] = {}
        self._equal: dict[bytes, Mask] = {}

    def mask(self, pod: Pod, by_nodes: Callable[[], Mask], by_claims: Callable[[], Mask]) -> Mask:
        """The nodes that these filters accept. The two callables compute missing parts."""
        known = self._by_pod.get(id(pod))
        if known is not None and known[0] is pod:
            return known[1]
        found = self._demanded(pod, by_nodes)
        if pod.volumes:
            found = self._once(found & by_claims())
        if len(self._by_pod) >= _MOST_PODS:
            self._by_pod.clear()
        self._by_pod[id(pod)] = (pod, found)
        return found

    def _demanded(self, pod: Pod, by_nodes: Callable[[], Mask]) -> Mask:
        selector = frozenset(pod.node_selector.items())
        demand = (pod.node, pod.tolerations, selector, pod.affinity.required_nodes)
        found = self._by_demand.get(demand)
        if found is None:
            if len(self._by_demand) >= _MOST_MASKS:
                self._by_demand.clear()
            found = self._by_demand[demand] = self._once(by_nodes())
        return found

    def _once(self, mask: Mask) -> Mask:
        """Return one mask for equal masks: most volumes are reachable from all nodes."""
        if len(self._equal) >= _MOST_MASKS:
            self._equal.clear()
        mask.flags.writeable = False
        return self._equal.setdefault(mask.tobytes(), mask)


def conjunction(everywhere: Mask, nowhere: Mask, filters: Sequence[Any]) -> Mask:
    """The nodes that all filters accept; none if one rejects the pod as a whole."""
    for item in filters:
        if item.whole() is not None:
            return nowhere
        everywhere &= item.mask()
    return everywhere
