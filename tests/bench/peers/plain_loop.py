"""kube-scheduler's filters as a plain loop over nodes: the straightforward form, frozen.

One pod, every node, one question after the other, the next node at the first no. What a scheduler
keeps ready between two pods (what is used on each node, which pods stand there) is kept ready here
too; what it counts once for a pod (pods by domain) is counted once here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import AffinityTerm, Taint

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(slots=True, kw_only=True)
class Place:
    """A node with the pods that stand there and what they use."""

    node: Node
    pods: list[Pod] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)

    def add(self, pod: Pod) -> None:
        """One more pod."""
        self.pods.append(pod)
        for name, amount in pod.requests.held.items():
            self.used[name] = self.used.get(name, 0) + amount

    def remove(self, pod: Pod) -> None:
        """One pod less."""
        self.pods = [other for other in self.pods if other.name != pod.name]
        for name, amount in pod.requests.held.items():
            self.used[name] -= amount


@dataclass(slots=True, kw_only=True)
class PlainLoop:
    """The nodes by name, the labels of namespaces, and what bound claims demand.

    `volumes` maps (namespace, claim) to (zone label values or None, node affinity terms or None).
    """

    places: list[Place]
    namespaces: Mapping[str, Mapping[str, str]]
    volumes: Mapping[tuple[str, str], tuple[Any, Any]]

    def feasible(self, pod: Pod) -> list[str]:
        """The names of the nodes that take the pod, in order."""
        counted = _Counted(self, pod)
        return [place.node.name for place in self.places if self._fits(place, pod, counted)]

    def _fits(  # noqa: C901, PLR0912 - plain on purpose: one question after the other
        self, place: Place, pod: Pod, counted: _Counted
    ) -> bool:
        node = place.node
        if node.unschedulable and not any(item.tolerates(_CORDON) for item in pod.tolerations):
            return False
        if pod.node and pod.node != node.name:
            return False
        for taint in node.taints:
            if taint.effect in ("NoSchedule", "NoExecute") and not any(
                item.tolerates(taint) for item in pod.tolerations
            ):
                return False
        for key, value in pod.node_selector.items():
            if node.labels.get(key) != value:
                return False
        terms = pod.affinity.required_nodes
        if terms is not None and not any(term.matches(node.labels, node.name) for term in terms):
            return False
        for port in pod.ports:
            for other in place.pods:
                if any(port.clashes(taken) for taken in other.ports):
                    return False
        if len(place.pods) + 1 > node.allocatable.get("pods", 0):
            return False
        for name, amount in pod.requests.filtered.items():
            if amount > 0 and place.used.get(name, 0) + amount > node.allocatable.get(name, 0):
                return False
        for claim in pod.claims:
            zones, reachable = self.volumes.get((pod.namespace, claim), (None, None))
            if zones is not None and node.zone not in zones:
                return False
            if reachable is not None and not any(
                term.matches(node.labels, node.name) for term in reachable
            ):
                return False
        return counted.fits(node)

    def reaches(self, term: AffinityTerm, namespace: str) -> bool:
        """Whether a namespace belongs to a term."""
        return term.reaches(namespace, self.namespaces.get(namespace, {}))


class _Counted:
    """Pods by topology domain, counted once for one pod."""

    def __init__(self, loop: PlainLoop, pod: Pod) -> None:
        self.pod = pod
        self.wanted: list[dict[str, int]] = [{} for _ in pod.affinity.required_pods]
        self.shunned: list[dict[str, int]] = [{} for _ in pod.affinity.required_anti]
        self.shunning: set[tuple[str, str]] = set()
        for place in loop.places:
            labels = place.node.labels
            for other in place.pods:
                self._count(self.wanted, pod.affinity.required_pods, loop, other, labels)
                self._count(self.shunned, pod.affinity.required_anti, loop, other, labels)
                for term in other.affinity.required_anti:
                    value = labels.get(term.topology_key)
                    if value is None or not term.selector.matches(pod.labels):
                        continue
                    if loop.reaches(term, pod.namespace):
                        self.shunning.add((term.topology_key, value))
        self.spread = [self._spread(loop, item) for item in pod.spread if item.hard]

    def _count(
        self,
        found: list[dict[str, int]],
        terms: tuple[AffinityTerm, ...],
        loop: PlainLoop,
        other: Pod,
        labels: Mapping[str, str],
    ) -> None:
        for counts, term in zip(found, terms, strict=True):
            value = labels.get(term.topology_key)
            if value is None or not loop.reaches(term, other.namespace):
                continue
            if term.selector.matches(other.labels):
                counts[value] = counts.get(value, 0) + 1

    def _spread(self, loop: PlainLoop, constraint: Any) -> tuple[Any, dict[str, int], int]:
        counts: dict[str, int] = {}
        for place in loop.places:
            value = place.node.labels.get(constraint.topology_key)
            if value is None:
                continue
            counts.setdefault(value, 0)
            for other in place.pods:
                same = other.namespace == self.pod.namespace and not other.terminating
                if same and constraint.selector.matches(other.labels):
                    counts[value] += 1
        least = min(counts.values(), default=0)
        return constraint, counts, 0 if len(counts) < constraint.min_domains else least

    def fits(self, node: Node) -> bool:
        """Whether spread, anti-affinity and affinity let the pod onto a node."""
        for constraint, counts, least in self.spread:
            value = node.labels.get(constraint.topology_key)
            own = int(constraint.selector.matches(self.pod.labels))
            if value is None or counts[value] + own - least > constraint.max_skew:
                return False
        for key, value in self.shunning:
            if node.labels.get(key) == value:
                return False
        for counts, term in zip(self.shunned, self.pod.affinity.required_anti, strict=True):
            if counts.get(node.labels.get(term.topology_key, ""), 0):
                return False
        for counts, term in zip(self.wanted, self.pod.affinity.required_pods, strict=True):
            if not counts.get(node.labels.get(term.topology_key, ""), 0):
                return False
        return True
