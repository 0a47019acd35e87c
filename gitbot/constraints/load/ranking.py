"""Scores besides those of the default profile: another strategy of Fit, and measured load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitbot.constraints.load.measures import NodeLoad
from gitbot.constraints.load.trimaran import LOAD_SCORERS, Place
from gitbot.constraints.scheduler.verdicts import NodeScore
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.diagnosis import Check, warned

MOST_ALLOCATED = "MostAllocated"
NAMES = (MOST_ALLOCATED, *sorted(LOAD_SCORERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The scorers of a profile besides the default ones, each with weight 1.

    `names` are from `NAMES`: MostAllocated is NodeResourcesFit's other strategy and replaces
    LeastAllocated; the others use `loads`, the measured load by node.
    """

    names: frozenset[str] = frozenset()
    loads: Mapping[str, NodeLoad] = field(default_factory=dict)

    @property
    def most_allocated(self) -> bool:
        return MOST_ALLOCATED in self.names

    @property
    def load_aware(self) -> tuple[str, ...]:
        return tuple(sorted(self.names - {MOST_ALLOCATED}))


class Ranked:
    """The extra scores of the pods of one snapshot."""

    def __init__(self, snapshot: ClusterSnapshot, ranking: Ranking) -> None:
        self.ranking = ranking
        self._nodes: dict[str, KubernetesObject] = {}
        self._pods: dict[str, list[KubernetesObject]] = {}
        if not ranking.load_aware:
            return
        self._nodes = {name_of(obj).name: obj for obj in snapshot.of("Node")}
        for pod in snapshot.of("Pod"):
            if not is_final(pod):
                self._pods.setdefault(at(pod, "spec", "nodeName") or "", []).append(pod)

    def added(
        self, scores: Iterable[NodeScore], pod: KubernetesObject, name: NamespacedName
    ) -> tuple[NodeScore, ...]:
        """The scores plus those of the chosen load-aware plugins, which add to the total."""
        names = self.ranking.load_aware
        if not names:
            return tuple(scores)
        return tuple(
            self._with_load(score, self._place(score.node, name), pod, names) for score in scores
        )

    def load_score(self, pod: KubernetesObject, name: NamespacedName, node: str) -> int:
        """The sum of the load-aware scores of one node; more is better."""
        place = self._place(node, name)
        return sum(LOAD_SCORERS[found](pod, place) for found in self.ranking.load_aware)

    def _place(self, node: str, name: NamespacedName) -> Place:
        pods = self._pods.get(node, ())
        return Place(
            node=self._nodes[node],
            load=self.ranking.loads.get(node, {}),
            pods=tuple(pod for pod in pods if name_of(pod) != name),
        )

    def _with_load(
        self, score: NodeScore, place: Place, pod: KubernetesObject, names: tuple[str, ...]
    ) -> NodeScore:
        found = {name: LOAD_SCORERS[name](pod, place) for name in names}
        total = score.total + sum(found.values())
        return replace(score, scores={**score.scores, **found}, total=total)

    def check(self, nodes: Iterable[str]) -> tuple[Check, ...]:
        if not self.ranking.load_aware:
            return ()
        missing = sorted(set(nodes) - set(self.ranking.loads))
        if not missing:
            return ()
        words = f"no metrics of {', '.join(missing)}: they score 0 for load, which excludes nothing"
        return (warned("metrics", words),)
