"""The simulator's scheduling decisions: room `constraints`, kept up to date change by change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gitbot.constraints.scheduler.cluster_facts import FACT_KINDS
from gitbot.constraints.scheduler.verdicts import Judgement
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.phases import is_final
from gitbot.model.cluster.pod import Pod
from gitbot.simulation.controllers.scheduler import Choice
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.store import Change, Store
from gitbot.snapshot import from_objects

_KINDS = tuple(kind for kind in FACT_KINDS if kind in BY_KIND)


class WorldPlacement:
    """A World that follows the store. Facts (nodes, volumes, ...) are read again after a change.

    Among nodes of equal score the first of `prefer` wins, then the first by name.
    """

    def __init__(self, *, store: Store, prefer: Callable[[], Sequence[str]]) -> None:
        self._store = store
        self._prefer = prefer
        self._world: World | None = None
        self._pods: dict[NamespacedName, Pod] = {}

    def changed(self, change: Change) -> None:
        if change.kind == "Pod":
            self._pod_changed(change)
        elif change.kind in FACT_KINDS and _facts_of(change.old) != _facts_of(change.new):
            self._world = None

    def choose(self, pod: KubernetesObject) -> Choice:
        """The best node for a pod, or why there is none, in the scheduler's words."""
        world, wanted = self.world(), Pod.from_object(pod)
        feasible = world.feasible(wanted)
        if not feasible:
            return Choice(node="", message=refusal(world.judge(wanted)))
        best = world.predicted(world.scores(wanted, feasible)) or feasible
        preferred = [name for name in self._prefer() if name in best]
        return Choice(node=preferred[0] if preferred else min(best))

    def _pod_changed(self, change: Change) -> None:
        name = NamespacedName(namespace=change.key[0], name=change.key[1])
        placed = change.type != "DELETED" and bool(at(change.new, "spec", "nodeName"))
        if (
            change.old is not None
            and placed
            and _placed_facts(change.old) == _placed_facts(change.new)
        ):
            return
        known = self._pods.pop(name, None)
        if known is not None and self._world is not None and self._world.pod(name) is not None:
            self._world.remove(name)
        if placed:
            pod = Pod.from_object(change.new)
            self._pods[name] = pod
            if self._world is not None:
                self._world.add(pod, pod.node)

    def world(self) -> World:
        """The pods on their nodes as the scheduler sees them now. Do not change it."""
        if self._world is None:
            objects = [obj for kind in _KINDS for obj in self._store.all(kind)]
            self._world = World.of(from_objects("", objects, 0))
            for pod in self._pods.values():
                self._world.add(pod, pod.node)
        return self._world


def _facts_of(obj: KubernetesObject | None) -> object:
    if obj is None:
        return None
    metadata = obj["metadata"]
    return (
        metadata.get("labels"),
        metadata.get("annotations"),
        {name: value for name, value in obj.items() if name not in ("metadata", "status")},
        at(obj, "status", "allocatable"),
        at(obj, "status", "images"),
        at(obj, "status", "phase"),
        metadata.get("deletionTimestamp"),
    )


def _placed_facts(obj: KubernetesObject) -> object:
    finished = is_final(obj)
    metadata = obj["metadata"]
    return finished, metadata.get("labels"), "deletionTimestamp" in metadata, obj["spec"]


def refusal(judgement: Judgement) -> str:
    """The refusal in kube-scheduler's words: `0/7 nodes are available: 3 node(s) ...`."""
    total = len(judgement.nodes)
    if judgement.whole is not None:
        return f"0/{total} nodes are available: {', '.join(judgement.whole.reasons)}."
    counts: Counter[str] = Counter()
    for verdict in judgement.nodes:
        if verdict.reported is not None:
            counts.update(verdict.reported.reasons)
    parts = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{total} nodes are available: {', '.join(parts)}."
