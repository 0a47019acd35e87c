"""World: pods on nodes at one instant, and what kube-scheduler 1.36 would say of one more pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gitbot.constraints.facts import Facts
from gitbot.constraints.filter import Filter
from gitbot.constraints.made import LastMade, Made
from gitbot.constraints.nominated import crowded
from gitbot.constraints.registry import BY_CLAIMS, BY_NODES, FILTERS, MOVING, PLUGINS, SCORERS
from gitbot.constraints.scorer import Scorer, total_scores
from gitbot.constraints.standing import conjunction
from gitbot.constraints.state import State
from gitbot.constraints.verdicts import Judgement, NodeScore, NodeVerdict, Rejection
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.columns import Mask
from gitbot.model.names import NamespacedName
from gitbot.model.node import Node
from gitbot.model.pod import Pod

_MOST_PODS = 50_000
_pod = Made(Pod.from_object, most=_MOST_PODS)


def _placed(snapshot: ClusterSnapshot) -> State:
    state = State(Facts(snapshot))
    nominated = []
    for obj in snapshot.of("Pod"):
        pod = _pod(obj)
        if pod.node:
            state.add(pod, pod.node)
        elif pod.nominated and not pod.finished:
            nominated.append(pod)
    state.nominated = tuple(sorted(nominated, key=lambda pod: pod.name))
    return state


_state = LastMade(_placed)


class World:
    """Pods on nodes at one instant. Mutable by add, remove and cordon; `fork` is cheap.

    Every question is about a pod that is not placed yet; a VM's own source pod is an ordinary
    placed pod. Answers follow kube-scheduler 1.36's default profile.
    """

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> World:
        """The world of a snapshot: every pod with a node that is not finished is placed."""
        return cls(_state(snapshot).fork())

    def fork(self) -> World:
        """An independent copy of what changes; nodes, namespaces and volumes are shared."""
        return World(self._state.fork())

    @property
    def state(self) -> State:
        """The state that filters and scorers read."""
        return self._state

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, sorted by name."""
        return self._state.nodes

    def node(self, name: str) -> Node | None:
        """A node by name."""
        number = self._state.columns.index.get(name)
        return None if number is None else self._state.nodes[number]

    def add(self, pod: Pod, node: str) -> None:
        """Place a pod on a node without asking whether it fits. Bug where its name is placed."""
        self._state.add(pod, node)

    def remove(self, pod: Pod | NamespacedName) -> Pod:
        """Take a pod away and return it. KeyError where no pod of that name is placed."""
        return self._state.remove(pod.name if isinstance(pod, Pod) else pod)

    def pod(self, name: NamespacedName) -> Pod | None:
        """A placed pod by name."""
        found = self._state.placed.get(name)
        return found[0] if found else None

    def node_of(self, name: NamespacedName) -> str:
        """Where a pod is placed; "" where it is not, or on a node that the snapshot lacks."""
        found = self._state.placed.get(name)
        return self._state.columns.names[found[1]] if found and found[1] >= 0 else ""

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """The pods placed on a node, sorted by name."""
        number = self._state.columns.index.get(node)
        pods = () if number is None else self._state.pods_on(number)
        return tuple(sorted(pods, key=lambda pod: pod.name))

    def pods_in(self, namespace: str) -> tuple[Pod, ...]:
        """The placed pods of a namespace, sorted by name."""
        placed = (pod for pod, _ in self._state.placed.values() if pod.namespace == namespace)
        return tuple(sorted(placed, key=lambda pod: pod.name))

    def cordon(self, *nodes: str) -> None:
        """Make nodes unschedulable (spec.unschedulable) from now on."""
        for node in nodes:
            self._state.unschedulable[self._state.columns.index[node]] = True

    def uncordon(self, *nodes: str) -> None:
        """Make nodes schedulable again."""
        for node in nodes:
            self._state.unschedulable[self._state.columns.index[node]] = False

    def unschedulable(self, node: str) -> bool:
        """Whether a node is cordoned here."""
        return bool(self._state.unschedulable[self._state.columns.index[node]])

    def feasible(self, pod: Pod) -> tuple[str, ...]:
        """The nodes that all filters accept, sorted; the fast way to `judge(pod).feasible`."""
        names = self._state.columns.names
        return tuple(names[number] for number in np.flatnonzero(self.mask(pod)))

    def mask(self, pod: Pod) -> Mask:
        """The nodes that all filters accept, as a mask in the order of `nodes`."""
        state = self._state
        result = state.facts.standing.mask(
            pod, lambda: _standing(state, pod, BY_NODES), lambda: _standing(state, pod, BY_CLAIMS)
        ).copy()
        for prepare in MOVING:
            prepared = prepare(self._state, pod)
            if prepared is None:
                continue
            if prepared.whole() is not None:
                return self._state.columns.nowhere()
            result &= prepared.mask()
        if self._state.nominated and result.any():
            for number, filters in self._crowded(pod):
                if any(item.reject(number) is not None for item in filters):
                    result[number] = False
        return result

    def check(self, pod: Pod, node: str) -> tuple[Rejection, ...]:
        """All rejections of one node in plugin order; empty where the pod fits there.

        KeyError where there is no such node.
        """
        number = self._state.columns.index[node]
        prepared = self._prepare(pod)
        whole = _whole(prepared)
        first = dict(self._crowded(pod)).get(number, ())
        return _rejections(prepared, number, whole, first)

    def judge(self, pod: Pod) -> Judgement:
        """The verdict of every node, with every plugin that rejects it and its reasons."""
        prepared = self._prepare(pod)
        whole = _whole(prepared)
        first = dict(self._crowded(pod))
        verdicts = tuple(
            NodeVerdict(
                node=name, rejections=_rejections(prepared, number, whole, first.get(number, ()))
            )
            for number, name in enumerate(self._state.columns.names)
        )
        return Judgement(pod=pod.name, nodes=verdicts, whole=whole)

    def scores(
        self, pod: Pod, nodes: Iterable[str], scorers: Sequence[Scorer] = SCORERS
    ) -> tuple[NodeScore, ...]:
        """Scores of these nodes, which must all be feasible, in the order of node names.

        kube-scheduler scores only where two or more nodes are feasible, and from 100 nodes on
        only a sample of them: scores are exact for clusters below 100 nodes.
        """
        numbers = np.array(
            sorted(self._state.columns.index[node] for node in nodes), dtype=np.int64
        )
        return total_scores(scorers, self._state, pod, numbers)

    def predicted(self, scores: Iterable[NodeScore]) -> tuple[str, ...]:
        """The nodes with the highest total, sorted: the scheduler takes one of them."""
        listed = tuple(scores)
        best = max((score.total for score in listed), default=0)
        return tuple(score.node for score in listed if score.total == best)

    def free(self, node: str) -> Mapping[str, int]:
        """Allocatable minus requested by resource (cpu in milli, else whole units)."""
        number = self._state.columns.index[node]
        return {
            resource: amount - int(self._state.column(resource)[number])
            for resource, amount in sorted(self._state.nodes[number].allocatable.items())
        }

    def _crowded(self, pod: Pod) -> Iterator[tuple[int, list[Filter]]]:
        """The nodes that nominated pods wait for, each with the filters of its first pass."""
        return crowded(self._state, pod) if self._state.nominated else iter(())

    def _prepare(self, pod: Pod) -> list[Filter]:
        prepared = (prepare(self._state, pod) for prepare in FILTERS)
        return [item for item in prepared if item is not None]


def _standing(
    state: State, pod: Pod, prepares: Sequence[Callable[[State, Pod], Filter | None]]
) -> Mask:
    prepared = (prepare(state, pod) for prepare in prepares)
    filters = [item for item in prepared if item is not None]
    return conjunction(state.columns.everywhere(), state.columns.nowhere(), filters)


def _whole(prepared: list[Filter]) -> Rejection | None:
    return next((found for item in prepared if (found := item.whole()) is not None), None)


def _rejections(
    prepared: list[Filter], number: int, whole: Rejection | None, first: Iterable[Filter]
) -> tuple[Rejection, ...]:
    """All of one node in plugin order, after the refusal of the whole pod if there is one.

    `first` are the filters that see the nominated pods there.
    """
    before = _said(first, number)
    found = {**_said(prepared, number), **before}
    if whole is not None:
        found.pop(whole.plugin, None)
    elif before and not any(item.early for item in found.values()):
        # there is no second pass where the first one fails
        plugin = next(iter(before))
        found[plugin] = replace(found[plugin], early=True)
    ordered = sorted(found.values(), key=lambda item: PLUGINS.index(item.plugin))
    return tuple(ordered) if whole is None else (whole, *ordered)


def _said(filters: Iterable[Filter], number: int) -> dict[str, Rejection]:
    found = (item.reject(number) for item in filters)
    return {item.plugin: item for item in found if item is not None}
