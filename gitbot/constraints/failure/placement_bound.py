"""A proof without a search that pods find places, in any order and on any of their nodes.

A pod finds none only if each node that takes it now is closed to it by then: filled by the others,
or taken by terms. Both counts are upper bounds, so no proof is wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from gitbot.constraints.scheduler.counting_multimap import Buckets
from gitbot.constraints.scheduler.filters.inter_pod_affinity import matches_incoming
from gitbot.constraints.scheduler.term_index import TermIndex
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod


class PlacementBound:
    """Pods that are added to a world together, by their requests and the terms between them."""

    def __init__(self, world: World, pods: Sequence[Pod]) -> None:
        self._world = world
        self._pods = {pod.name: pod for pod in pods}
        self._names = tuple(self._pods)
        self._claims = Counter((pod.namespace, claim) for pod in pods for claim in pod.claims)
        self._apart_by_terms = any(pod.affinity.required_anti or pod.spread for pod in pods)

    @cached_property
    def _asked(self) -> Counter[str]:
        asked: Counter[str] = Counter()
        for pod in self._pods.values():
            asked.update(self._world.asks(pod))
        return asked

    @cached_property
    def _by_label(self) -> Buckets[tuple[str, str], NamespacedName]:
        found: Buckets[tuple[str, str], NamespacedName] = Buckets()
        for name, pod in self._pods.items():
            for label in pod.labels.items():
                found.add(label, name)
        return found

    @cached_property
    def _anti(self) -> TermIndex:
        found = TermIndex()
        for number, pod in enumerate(self._pods.values()):
            for term in pod.affinity.required_anti:
                found.add(term, number)
        return found

    def surely_fit(self, pods: Sequence[Pod], closed: Mask) -> bool:
        """Whether each of these pods finds a node outside `closed`. False: not proven."""
        return all(self._finds_place(pod, closed) for pod in pods)

    def _finds_place(self, pod: Pod, closed: Mask) -> bool:
        shared = any(self._claims[pod.namespace, claim] > 1 for claim in pod.claims)
        if pod.affinity.required_pods or shared:
            return False  # depends on where the first of them is placed
        if pod.attachment is not None:
            return False  # kube-scheduler may choose a node where its volumes are not attached
        nodes = self._world.mask(pod) & ~closed
        open_now = int(nodes.sum())
        if open_now - self._most_closed_by_terms >= len(self._pods):
            return True  # the same result without checking each term
        left = open_now - self._closed_by_terms(pod, nodes)
        if left >= len(self._pods):
            return True  # each of the others closes the node that it takes
        limited = pod.volumes and self._world.state.facts.storage.drivers
        return not (pod.ports or limited) and left > self._filled(pod, nodes)

    def _filled(self, pod: Pod, nodes: Mask) -> int:
        """Upper bound of the nodes on which the others leave too little room for the pod."""
        state = self._world.state
        most = 0
        for name, amount in self._world.asks(pod).items():
            spare = state.columns.allocatable(name)[nodes] - state.column(name)[nodes] - amount
            needed = np.cumsum(np.sort(spare + 1))
            coming = self._asked[name] - amount
            most += int(np.searchsorted(needed, coming, side="right"))
        return most

    @cached_property
    def _most_closed_by_terms(self) -> int:
        """Upper bound as if each of the others closed the largest domain of every key in a term."""
        pods = self._pods.values()
        keys = {term.topology_key for pod in pods for term in pod.affinity.required_anti}
        keys |= {one.topology_key for pod in pods for one in pod.spread if one.hard}
        largest = sum(self._world.state.columns.label(key).largest for key in keys)
        return largest * (len(self._pods) - 1)

    def _closed_by_terms(self, pod: Pod, nodes: Mask) -> int:
        """Upper bound of the nodes closed by anti-affinity and spread: a domain per other pod."""
        if not self._apart_by_terms:
            return 0
        closing: defaultdict[str, set[NamespacedName]] = defaultdict(set)
        for key, name in self._apart(pod):
            closing[key].add(name)
        lost = 0
        for key, names in closing.items():
            column = self._world.state.columns.label(key)
            ids = column.ids[nodes & column.known]
            lost += int(np.bincount(ids).max(initial=0)) * len(names - {pod.name})
        return lost

    def _apart(self, pod: Pod) -> Iterator[tuple[str, NamespacedName]]:
        """Topology keys with the pods that may close one of its domains to this pod."""
        state = self._world.state
        for term in pod.affinity.required_anti:
            for name in self._candidates(term.selector.one_label):
                if matches_incoming(term, self._pods[name], state):
                    yield term.topology_key, name
        namespace = state.facts.labels_of_namespace(pod.namespace)
        for entry, numbers in self._anti.matching(pod.namespace, pod.labels, namespace):
            for number in numbers:
                yield entry.term.topology_key, self._names[number]
        for one in pod.spread:
            for name in self._candidates(one.selector.one_label) if one.hard else ():
                other = self._pods[name]
                if other.namespace == pod.namespace and one.selector.matches(other.labels):
                    yield one.topology_key, name

    def _candidates(self, label: tuple[str, str] | None) -> Iterator[NamespacedName]:
        return iter(self._names) if label is None else iter(self._by_label.get(label))
