"""Results of a judgement: rejections by node with kube-scheduler's own names and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.wording import first_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """One plugin's rejection, in kube-scheduler's own words. `reasons` are sorted.

    `resolvable`: evicting other pods could help (status Unschedulable, not
    UnschedulableAndUnresolvable). `early`: found before the plugins' filters ran on the node
    (PreFilter), so kube-scheduler reports it. `details` repeat it with names and amounts.
    `unknown`: the snapshot lacks what decides, so kube-scheduler may answer otherwise.
    """

    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool = False
    early: bool = False
    details: tuple[str, ...] = ()
    unknown: bool = False

    def __str__(self) -> str:
        return f"{self.plugin}: {'; '.join(self.details or self.reasons)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVerdict:
    """One node's answer: all rejections in kube-scheduler's plugin order; empty if the pod fits."""

    node: str
    rejections: tuple[Rejection, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.rejections

    @property
    def reported(self) -> Rejection | None:
        """The one rejection that kube-scheduler itself would report."""
        early = next((item for item in self.rejections if item.early), None)
        return early or next(iter(self.rejections), None)

    @property
    def resolvable(self) -> bool:
        """Whether kube-scheduler would try preemption here. The reported rejection decides."""
        return self.reported is None or self.reported.resolvable

    @property
    def word(self) -> str:
        """ok; unknown; unschedulable if eviction of other pods could help; else unresolvable."""
        if self.ok:
            return "ok"
        if any(item.unknown for item in self.rejections):
            return "unknown"
        return "unschedulable" if self.resolvable else "unresolvable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of every node for one pod, in the order of node names.

    `whole` is set if kube-scheduler rejects the pod before it checks any node.
    """

    pod: NamespacedName
    nodes: tuple[NodeVerdict, ...]
    whole: Rejection | None = None

    @property
    def feasible(self) -> tuple[str, ...]:
        return tuple(verdict.node for verdict in self.nodes if verdict.ok)

    def at(self, node: str) -> NodeVerdict | None:
        return next((verdict for verdict in self.nodes if verdict.node == node), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScore:
    """One feasible node's scores: plugin to 0..100 before weights (absent: skipped), and the sum.

    Weights of kube-scheduler's default profile: TaintToleration 3; NodeAffinity, PodTopologySpread,
    InterPodAffinity, DynamicResources 2; the others 1.
    """

    node: str
    scores: Mapping[str, int] = field(default_factory=dict)
    total: int = 0


def elsewhere(nodes: Sequence[str]) -> str:
    """The text for a move that the scheduler may place on one of these nodes."""
    where = first_of(nodes, 3)
    return f"the scheduler may also choose {where}, where the move may not land; pin it to a node"
