"""World: pods on nodes at one instant, and kube-scheduler's answer for one more pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gitbot.constraints.scheduler.cluster_facts import FACT_KINDS, StandingFacts, minor_of
from gitbot.constraints.scheduler.filters import (
    node_unschedulable,
    resources,
    volume_limits,
    volume_restrictions,
)
from gitbot.constraints.scheduler.filters.inter_pod_affinity import InterPodAffinity, at_odds
from gitbot.constraints.scheduler.filters.volume_restrictions import VolumeRestrictions
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.pod_masks import conjunction
from gitbot.constraints.scheduler.registry import (
    BY_CLAIMS,
    BY_NODES,
    FILTERS,
    MOVING,
    PLUGINS,
    filters_beside,
    scorers_of,
    totals_of,
)
from gitbot.constraints.scheduler.scorer import (
    Filter,
    Prepare,
    filters_of,
    total_scores,
    totals,
)
from gitbot.constraints.scheduler.verdicts import Judgement, NodeScore, NodeVerdict, Rejection
from gitbot.constraints.scheduler.versions import LATER
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.caches import LastValueCache, RowCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod

_FEW = 4  # up to one changed pod in so many, the last state is reused
# Only the pods of the last snapshot: a process that watches reads others in every pass.
_pods = RowCache(Pod.from_object)


def _as_later(obj: KubernetesObject) -> Pod:
    pod = Pod.from_object(obj)
    later = pod.requests.later
    return pod if later is None else pod.replace(requests=later)


_later_pods = RowCache(_as_later)


def _placed(snapshot: ClusterSnapshot, last: tuple[ClusterSnapshot, State] | None) -> State:
    decoded = _pods if minor_of(snapshot) < LATER else _later_pods
    pods = decoded((obj,) for obj in snapshot.of("Pod"))
    state = _followed(snapshot, pods, last) or State(StandingFacts(snapshot))
    kept = frozenset(state.placed)
    for pod in pods:
        if pod.node and pod.name not in kept:
            state.add(pod, pod.node)
    nominated = [pod for pod in pods if not pod.node and pod.nominated and not pod.finished]
    state.nominated = tuple(sorted(nominated, key=lambda pod: pod.name))
    return state


def _followed(
    snapshot: ClusterSnapshot, pods: Sequence[Pod], last: tuple[ClusterSnapshot, State] | None
) -> State | None:
    """The last state without the pods that changed or left; None if a new state is as fast.

    Between two reads of one cluster a few pods move, and usually nothing else changes.
    """
    if last is None or snapshot.kubernetes_version != last[0].kubernetes_version:
        return None
    if snapshot.profiles is not last[0].profiles:
        return None
    if any(snapshot.of(kind) is not last[0].of(kind) for kind in FACT_KINDS):
        return None
    there = {pod.name: pod for pod in pods}
    stale = [name for name, (pod, _) in last[1].placed.items() if there.get(name) is not pod]
    if len(stale) > len(pods) // _FEW:
        return None
    state = last[1].fork()
    for name in stale:
        state.remove(name)
    return state


_state = LastValueCache(_placed)


class World:
    """Pods on nodes in one state. Change it with add, remove and cordon; `fork` is cheap.

    Every question is about a pod that is not placed yet; a VM's own source pod is an ordinary
    placed pod. Answers follow the profile of kube-scheduler that the pod names.
    """

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> World:
        """The world of a snapshot. Every unfinished pod with a node is placed."""
        return cls(_state(snapshot).fork())

    def fork(self) -> World:
        """An independent copy of what changes; nodes, namespaces and volumes are shared."""
        return World(self._state.fork())

    @property
    def state(self) -> State:
        return self._state

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._state.nodes

    def node(self, name: str) -> Node | None:
        columns = self._state.columns
        number = columns.index.get(name)
        return None if number is None else columns.nodes[number]

    def add(self, pod: Pod, node: str) -> None:
        """Place a pod on a node without checking that it fits. Raises Bug if the name is taken."""
        self._state.add(pod, node)

    def remove(self, pod: Pod | NamespacedName) -> Pod:
        """Remove and return a pod. Raises KeyError if no pod of that name is placed."""
        return self._state.remove(pod.name if isinstance(pod, Pod) else pod)

    def pod(self, name: NamespacedName) -> Pod | None:
        found = self._state.placed.get(name)
        return found[0] if found else None

    def node_of(self, name: NamespacedName) -> str:
        """Where a pod is placed; "" if it is not placed, or its node is not in the snapshot."""
        found = self._state.placed.get(name)
        return self._state.columns.names[found[1]] if found and found[1] >= 0 else ""

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        number = self._state.columns.index.get(node)
        pods = () if number is None else self._state.pods_on(number)
        return tuple(sorted(pods, key=lambda pod: pod.name))

    def pods_in(self, namespace: str) -> tuple[Pod, ...]:
        placed = (pod for pod, _ in self._state.placed.values() if pod.namespace == namespace)
        return tuple(sorted(placed, key=lambda pod: pod.name))

    def cordon(self, *nodes: str) -> None:
        for node in nodes:
            self._state.unschedulable[self._state.columns.index[node]] = True

    def uncordon(self, *nodes: str) -> None:
        for node in nodes:
            self._state.unschedulable[self._state.columns.index[node]] = False

    def unschedulable(self, node: str) -> bool:
        return bool(self._state.unschedulable[self._state.columns.index[node]])

    def feasible(self, pod: Pod) -> tuple[str, ...]:
        """The nodes that all filters accept, sorted. Faster than `judge(pod).feasible`."""
        names = self._state.columns.names
        return tuple(names[number] for number in np.flatnonzero(self.mask(pod)))

    def mask(self, pod: Pod, *, room: bool = True) -> Mask:
        """The nodes that all filters accept, as a mask in the order of `nodes`.

        Without `room`, all filters but NodeResourcesFit.
        """
        result = self._stands(pod).copy()
        for prepare in _filters(MOVING, self._state, pod):
            if prepare is resources.prepare and not room:
                continue
            prepared = prepare(self._state, pod)
            if prepared is None:
                continue
            if prepared.whole() is not None:
                return self._state.columns.nowhere()
            result &= prepared.mask()
        if self._state.nominated and result.any():
            for number, filters in _crowded(self._state, pod):
                if any(item.reject(number) is not None for item in filters):
                    result[number] = False
        return result

    def room(self, pod: Pod) -> Mask:
        """The nodes that NodeResourcesFit accepts. Read-only."""
        return resources.prepare(self._state, pod).mask()

    def needs_only_room(self, pod: Pod) -> bool:
        """Whether moves of VMs change only its room, if no terms select pods of other VMs.

        A claim in use stays in use while its VM moves.
        """
        state = self._state
        if pod.ports or pod.attachment or any(i.hard for i in pod.spread) or state.nominated:
            return False
        disks = volume_restrictions.prepare(state, pod)
        return volume_limits.prepare(state, pod) is None and not (disks and disks.inline)

    def fits_if_empty(self, pod: Pod) -> Mask:
        """The nodes that would take a pod if they were empty, as far as the snapshot shows."""
        result = self._stands(pod).copy()
        for name, amount in self.asks(pod).items():
            result &= self._state.columns.allocatable(name) >= amount
        return result

    def _stands(self, pod: Pod) -> Mask:
        state = self._state
        return state.facts.standing.mask(
            pod, lambda: _standing(state, pod, BY_NODES), lambda: _standing(state, pod, BY_CLAIMS)
        )

    def open_to(self, pod: Pod) -> Mask:
        """The nodes that accept the pod, ignoring other pods and room."""
        off = "NodeUnschedulable" in self._state.facts.profile(pod).without
        cordon = None if off else node_unschedulable.prepare(self._state, pod)
        return self._stands(pod) if cordon is None else self._stands(pod) & cordon.mask()

    def fits(self, pod: Pod, node: str) -> bool:
        """Whether all filters accept one node: `mask` for that node alone.

        Raises KeyError for an unknown node.
        """
        state, number = self._state, self._state.columns.index[node]
        if state.nominated:
            return bool(self.mask(pod)[number])
        if not self._stands(pod)[number]:
            return False
        prepared = filters_of(_filters(MOVING, state, pod), state, pod)
        return _whole(prepared) is None and all(item.reject(number) is None for item in prepared)

    def conflicts_between(self, pod: Pod, node: str) -> tuple[Pod, ...]:
        """The placed pods that keep the new pod off a node, by their or its anti-affinity."""
        number = self._state.columns.index[node]
        found = {other.name: other for other in at_odds(self._state, pod, number)}
        return tuple(found[name] for name in sorted(found))

    def check(self, pod: Pod, node: str) -> tuple[Rejection, ...]:
        """All rejections of one node in plugin order; empty if the pod fits there.

        Raises KeyError for an unknown node.
        """
        number = self._state.columns.index[node]
        prepared = _prepared(self._state, pod)
        whole = _whole(prepared)
        first = dict(_crowded(self._state, pod)).get(number, ())
        return _rejections(prepared, number, whole, first)

    def judge(self, pod: Pod) -> Judgement:
        prepared = _prepared(self._state, pod)
        whole = _whole(prepared)
        first = dict(_crowded(self._state, pod))
        verdicts = tuple(
            NodeVerdict(
                node=name, rejections=_rejections(prepared, number, whole, first.get(number, ()))
            )
            for number, name in enumerate(self._state.columns.names)
        )
        return Judgement(pod=pod.name, nodes=verdicts, whole=whole)

    def scores(
        self, pod: Pod, nodes: Iterable[str], *, most_allocated: bool = False
    ) -> tuple[NodeScore, ...]:
        """Scores of these nodes, which must all be feasible, in the order of node names.

        kube-scheduler scores only if two or more nodes are feasible, and from 100 nodes on only a
        sample of them: scores are exact for clusters below 100 nodes.
        """
        numbers = np.array(
            sorted(self._state.columns.index[node] for node in nodes), dtype=np.int64
        )
        profile = self._state.facts.profile(pod)
        if most_allocated:
            profile = replace(profile, most_allocated=True)
        return total_scores(scorers_of(profile), self._state, pod, numbers)

    def totals(self, pod: Pod, numbers: Numbers) -> Numbers:
        """The totals of `scores` for nodes by number, as an array in the same order."""
        scorers = totals_of(self._state.facts.profile(pod))
        return totals(scorers, self._state, pod, numbers)

    def predicted(self, scores: Iterable[NodeScore]) -> tuple[str, ...]:
        """The nodes with the highest total, sorted. The scheduler takes one of them."""
        listed = tuple(scores)
        best = max((score.total for score in listed), default=0)
        return tuple(score.node for score in listed if score.total == best)

    def asks(self, pod: Pod) -> Mapping[str, int]:
        """The requests of a pod for the resources that NodeResourcesFit checks; `pods` is 1."""
        return resources.asks(pod.requests)

    def free(self, node: str) -> Mapping[str, int]:
        """Allocatable minus requested by resource (cpu in milli, else whole units)."""
        number = self._state.columns.index[node]
        return {
            resource: amount - int(self._state.column(resource)[number])
            for resource, amount in sorted(self._state.nodes[number].allocatable.items())
        }


def _filters(prepares: tuple[Prepare, ...], state: State, pod: Pod) -> tuple[Prepare, ...]:
    return filters_beside(prepares, state.facts.profile(pod).without)


def _prepared(state: State, pod: Pod) -> list[Filter]:
    return filters_of(_filters(FILTERS, state, pod), state, pod)


def _standing(state: State, pod: Pod, prepares: Iterable[Prepare]) -> Mask:
    filters = filters_of(prepares, state, pod)
    return conjunction(state.columns.everywhere(), state.columns.nowhere(), filters)


def _whole(prepared: list[Filter]) -> Rejection | None:
    return next((found for item in prepared if (found := item.whole()) is not None), None)


def _rejections(
    prepared: list[Filter], number: int, whole: Rejection | None, first: Iterable[Filter]
) -> tuple[Rejection, ...]:
    """Rejections of one node in plugin order, after a rejection of the whole pod, if any.

    `first` are the filters that see the node's nominated pods, too.
    """
    before = _said(first, number)
    found = {**_said(prepared, number), **before}
    if whole is not None:
        found.pop(whole.plugin, None)
    elif before and not any(item.early for item in found.values()):
        # if the first pass rejects, kube-scheduler runs no second one
        plugin = next(iter(before))
        found[plugin] = replace(found[plugin], early=True)
    ordered = sorted(found.values(), key=lambda item: PLUGINS.index(item.plugin))
    return tuple(ordered) if whole is None else (whole, *ordered)


def _said(filters: Iterable[Filter], number: int) -> dict[str, Rejection]:
    found = (item.reject(number) for item in filters)
    return {item.plugin: item for item in found if item is not None}


def _crowded(state: State, pod: Pod) -> Iterator[tuple[int, list[Filter]]]:
    """The nodes that nominated pods wait for, each with the filters of its first pass.

    If pods of at least the same priority wait for a node, kube-scheduler runs the filters twice:
    with them in place, then without. If it skips a plugin without those pods, it skips it with them
    too. Source: framework/runtime (RunFilterPluginsWithNominatedPods).
    """
    waiting: dict[int, list[Pod]] = {}
    for other in state.nominated:
        number = state.columns.index.get(other.nominated)
        placed = other.name == pod.name or other.name in state.placed
        if number is not None and not placed and other.priority >= pod.priority:
            waiting.setdefault(number, []).append(other)
    if not waiting:
        return
    alone = _prepared(state, pod)
    idle = InterPodAffinity | VolumeRestrictions
    skipped = {type(item) for item in alone if isinstance(item, idle) and item.idle}
    for number, pods in sorted(waiting.items()):
        together = state.fork()
        for other in pods:
            together.add(other, other.nominated)
        together.late = frozenset(other.name for other in pods)
        filters = _prepared(together, pod)
        yield number, [item for item in filters if type(item) not in skipped]
