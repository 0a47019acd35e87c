"""Pods on nodes in one state, with the indexes that make filters fast. Forks are cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from gitbot.constraints.scheduler.cluster_facts import StandingFacts
from gitbot.constraints.scheduler.counting_multimap import Buckets
from gitbot.constraints.scheduler.fit_masks import PODS, FitMasks
from gitbot.constraints.scheduler.term_index import TermIndex
from gitbot.errors import Bug
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import AffinityTerm, HostPort

CPU_SCORED, MEMORY_SCORED = "cpu (scored)", "memory (scored)"


def volumes_of(driver: str) -> str:
    """The column that counts a driver's volumes, once for each pod: at least those attached."""
    return f"volumes of {driver}"


INLINE_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")
_ABSENT = -1  # number of a node that the snapshot does not have


class State:
    """The mutable part of a world. Node numbers index `columns.nodes`.

    `used[resource]` has shape (nodes,): what placed pods request, with `pods` counted, and the two
    scored sums with kube-scheduler's defaults for containers without requests. `nominated` are the
    pods that wait for the node which preemption promised them, sorted by name; `late` names those
    of them that count as placed already.
    """

    def __init__(self, facts: StandingFacts) -> None:
        self.facts, self.columns = facts, facts.columns
        self.used: dict[str, Numbers] = {}
        self.unschedulable: Mask = np.array([n.unschedulable for n in self.nodes], dtype=bool)
        self.placed: dict[NamespacedName, tuple[Pod, int]] = {}
        self.by_node: Buckets[int, NamespacedName] = Buckets()
        self.by_label: Buckets[tuple[str, str], NamespacedName] = Buckets()
        self._keys = frozenset({CREATED_BY})  # the label keys of `by_label`
        self.ports: Buckets[int, HostPort] = Buckets()
        self.claims: Buckets[tuple[str, str], NamespacedName] = Buckets()
        self.csi: Buckets[tuple[int, str], str] = Buckets()
        self.disks: Buckets[int, NamespacedName] = Buckets()
        self.fits = FitMasks(len(self.columns))
        self.anti = TermIndex()
        self.scoring = TermIndex()
        self.nominated: tuple[Pod, ...] = ()
        self.late: frozenset[NamespacedName] = frozenset()
        self._selected: dict[LabelMatcher, tuple[tuple[Pod, int], ...]] = {}

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.columns.nodes

    def fork(self) -> State:
        copy = object.__new__(State)
        copy.facts, copy.columns = self.facts, self.columns
        copy.used = {name: column.copy() for name, column in self.used.items()}
        copy.unschedulable = self.unschedulable.copy()
        copy.placed = dict(self.placed)
        copy.by_node, copy.by_label = self.by_node.fork(), self.by_label.fork()
        copy._keys = self._keys
        copy.ports, copy.claims = self.ports.fork(), self.claims.fork()
        copy.csi, copy.disks = self.csi.fork(), self.disks.fork()
        copy.fits = self.fits.fork()
        copy.anti, copy.scoring = self.anti.fork(), self.scoring.fork()
        copy.nominated, copy.late = self.nominated, self.late
        copy._selected = dict(self._selected)
        return copy

    def column(self, resource: str) -> Numbers:
        """The use of a resource by placed pods, shape (nodes,). Read-only."""
        column = self.used.get(resource)
        if column is None:
            column = self.used[resource] = np.zeros(len(self.columns), dtype=np.int64)
        return column

    def add(self, pod: Pod, node: str) -> None:
        """Place a pod. A finished pod uses nothing and is ignored."""
        if pod.finished:
            return
        if pod.name in self.placed:
            raise Bug(f"BUG: pod {pod.name} is placed already")
        number = self.columns.index.get(node, _ABSENT)
        self.placed[pod.name] = (pod, number)
        if number != _ABSENT:
            self._count(pod, number, 1)

    def remove(self, name: NamespacedName) -> Pod:
        """Remove a pod. Raises KeyError for an unknown name."""
        pod, number = self.placed.pop(name)
        if number != _ABSENT:
            self._count(pod, number, -1)
        return pod

    def _count(self, pod: Pod, number: int, sign: int) -> None:
        self._selected.clear()
        self.fits.touch(number)
        held = pod.requests
        for resource, amount in held.held.items():
            self.column(resource)[number] += sign * amount
        self.column(PODS)[number] += sign
        self.column(CPU_SCORED)[number] += sign * held.held_cpu
        self.column(MEMORY_SCORED)[number] += sign * held.held_memory
        shift = Buckets.add if sign > 0 else Buckets.remove
        shift(self.by_node, number, pod.name)
        labels = pod.labels
        for known in self._keys:
            if known in labels:
                shift(self.by_label, (known, labels[known]), pod.name)
        if pod.ports or pod.volumes:
            self._attach(pod, number, sign, shift)
        for index, term, weight in self._terms(pod):
            (index.add if sign > 0 else index.remove)(term, number, weight)

    def _attach(self, pod: Pod, number: int, sign: int, shift: Callable[..., None]) -> None:
        for buckets, key, item in self._attached(pod, number):
            shift(buckets, key, item)
            if buckets is self.csi:
                self.column(volumes_of(str(key[1])))[number] += sign  # type: ignore[index]

    def _attached(self, pod: Pod, number: int) -> Iterator[tuple[Buckets, object, object]]:  # type: ignore[type-arg]
        """The counters of its ports and volumes."""
        for port in pod.ports:
            yield self.ports, number, port
        if not pod.volumes:
            return
        for claim in sorted(set(pod.direct_claims)):
            yield self.claims, (pod.namespace, claim), pod.name
        for driver, handle in sorted(self.facts.storage.csi_volumes(pod)):
            yield self.csi, (number, driver), handle
        if any(at(volume, kind) for volume in pod.volumes for kind in INLINE_DISKS):
            yield self.disks, number, pod.name

    def _terms(self, pod: Pod) -> Iterator[tuple[TermIndex, AffinityTerm, int]]:
        affinity = pod.affinity
        for term in affinity.required_anti:
            yield self.anti, term, 0
        for term in affinity.required_pods:
            yield self.scoring, term, 1
        for weighted in affinity.preferred_pods:
            yield self.scoring, weighted.term, weighted.weight

    def pods_on(self, number: int) -> Iterator[Pod]:
        return (self.placed[name][0] for name in self.by_node.get(number))

    def select(self, selector: LabelMatcher) -> tuple[tuple[Pod, int], ...]:
        if selector.nothing:
            return ()
        label = selector.one_label
        if label is not None:  # exactly the pods in the index
            return tuple(map(self.placed.__getitem__, self._labelled(*label)))
        found = self._selected.get(selector)
        if found is None:
            found = self._selected[selector] = tuple(
                (pod, number)
                for pod, number in map(self.placed.__getitem__, self._candidates(selector))
                if number != _ABSENT and selector.matches(pod.labels)
            )
        return found

    def _labelled(self, key: str, value: str) -> Mapping[NamespacedName, int]:
        """The pods on known nodes with a label. A key is indexed when it is first used."""
        if key not in self._keys:
            self._keys = self._keys | {key}
            for name, (pod, number) in self.placed.items():
                if number != _ABSENT and key in pod.labels:
                    self.by_label.add((key, pod.labels[key]), name)
        return self.by_label.get((key, value))

    def _candidates(self, selector: LabelMatcher) -> Iterable[NamespacedName]:
        """The smallest indexed set of pods for one label value that the selector demands, else all.

        Pods on nodes outside the snapshot are included only if the selector demands nothing.
        """
        best: list[Mapping[NamespacedName, int]] | None = None
        size = len(self.placed)
        for item in selector.requirements:
            if item.operator == "In":
                found = [self._labelled(item.key, value) for value in item.values]
                total = sum(map(len, found))
                if best is None or total < size:
                    best, size = found, total
        if best is None:
            return list(self.placed)
        return [name for names in best for name in names]
