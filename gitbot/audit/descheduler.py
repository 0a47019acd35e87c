"""How a descheduler's LowNodeUtilization classifies the nodes: over, under, or neither, in words.

Source: kubernetes-sigs/descheduler, pkg/framework/plugins/nodeutilization (a node is over if any
resource is above its target threshold, under if none is above its threshold; deviations count from
the average and stay within 0..100).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    condition_of,
    labels_of,
    name_of,
)
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import PERCENT, ClusterLoad
from gitbot.model.text.instants import format_instant

PREDICTIVE = "Predictive"
"""The operator's mode that evicts nothing, and its default."""
NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
EVICT = "descheduler.alpha.kubernetes.io/evict"
_LOCAL = f"its DefaultEvictor leaves pods with local storage without annotation {EVICT}"
COMBINED = "MetricResource"
"""The one resource of a Prometheus query."""
SCHEDULABLE = LabelMatcher.of({"matchLabels": {"kubevirt.io/schedulable": "true"}})
ALL = LabelMatcher()
NOTHING_MOVED: Mapping[str, Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """The arguments of LowNodeUtilization: percent by resource.

    `basis` is requests, load (KubernetesMetrics) or combined (one Prometheus query). `mode` is that
    of the operator: Predictive only logs; "" for a descheduler without one, which evicts.
    """

    under: Mapping[str, Fraction]
    over: Mapping[str, Fraction]
    deviation: bool = False
    basis: str = "requests"
    labels: LabelMatcher = ALL
    keeps_local: bool = False  # its evictor leaves pods with local storage
    spare: int = 0  # numberOfNodes: it evicts nothing with this many under-utilised nodes or fewer
    excluded: tuple[str, ...] = ()
    mode: str = ""
    name: str = "LowNodeUtilization"
    cooldown: str = ""  # how long it does not touch a VM after a migration, in words

    @property
    def acts(self) -> bool:
        return self.mode != PREDICTIVE

    def leaves(self, launcher: KubernetesObject) -> str:
        """Why it does not evict this launcher pod, which always has emptyDir volumes; "" if it may.

        Source: descheduler, pkg/framework/plugins/defaultevictor, Filter.
        """
        marks = annotations_of(launcher)
        if NO_EVICTION in marks:
            return NO_EVICTION
        return _LOCAL if self.keeps_local and EVICT not in marks else ""


RELIEVE = Utilization(
    under={"cpu": Fraction(0)},
    over={"cpu": Fraction(10)},
    deviation=True,
    basis="load",
    labels=SCHEDULABLE,
    mode=PREDICTIVE,
    name="gitbot's default",
)
"""The default without a policy: measured CPU above the average by 10, as AsymmetricLow defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """One node: `over`, `under` or `between`, with metric, value, threshold and direction."""

    node: str
    kind: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """All nodes with the needed values. `idle` says why nothing would be evicted, "" if not."""

    nodes: tuple[Classified, ...]
    unknown: tuple[str, ...] = ()
    idle: str = ""

    def of(self, kind: str) -> tuple[Classified, ...]:
        return tuple(item for item in self.nodes if item.kind == kind)


def classify(
    asked: Utilization,
    snapshot: ClusterSnapshot,
    load: ClusterLoad,
    moved: Mapping[str, Mapping[str, int]] = NOTHING_MOVED,
) -> Classification:
    """The plugin's result. A node without a needed value is unknown, never guessed.

    `moved`: by node, how much more of each resource is requested there than now.
    """
    nodes = {
        name_of(node).name: node
        for node in snapshot.of("Node")
        if asked.labels.matches(labels_of(node))
        and (condition_of(node, "Ready") or {}).get("status", "True") == "True"
    }
    usage = dict(_usage(asked, snapshot, load, nodes, moved))
    unknown = tuple(name for name in sorted(nodes) if name not in usage)
    known = {name: usage[name] for name in sorted(usage)}
    average = {
        resource: sum((use[resource] for use in known.values()), Fraction(0)) / len(known)
        for resource in asked.over
        if known
    }
    found = []
    for name, use in known.items():
        closed = bool(at(nodes[name], "spec", "unschedulable", default=False))
        found.append(_classified(asked, name, use, average, load=load, closed=closed))
    made = Classification(nodes=tuple(found), unknown=unknown)
    return Classification(nodes=made.nodes, unknown=unknown, idle=_idle(asked, made))


def _idle(asked: Utilization, made: Classification) -> str:
    under, over = made.of("under"), made.of("over")
    if not under or not over:
        return f"no node is {'under' if not under else 'over'}-utilised"
    if len(under) <= asked.spare:
        return f"only {len(under)} under-utilised, numberOfNodes is {asked.spare}"
    return "all nodes are under-utilised" if len(under) == len(made.nodes) else ""


def _usage(
    asked: Utilization,
    snapshot: ClusterSnapshot,
    load: ClusterLoad,
    nodes: Iterable[str],
    moved: Mapping[str, Mapping[str, int]],
) -> Iterator[tuple[str, dict[str, Fraction]]]:
    world = World.of(snapshot)
    size = {node.name: node.allocatable for node in world.nodes}
    for name in nodes:
        free, use = world.free(name), dict[str, Fraction]()
        for resource in asked.over:
            measured = load.of(name).get("combined" if resource == COMBINED else resource)
            if asked.basis != "requests" and resource != "pods":
                if measured is not None:
                    use[resource] = Fraction(measured.amount, PERCENT)
            elif size[name].get(resource):
                taken = size[name][resource] - free[resource] + moved.get(name, {}).get(resource, 0)
                use[resource] = Fraction(100 * taken, size[name][resource])
        if len(use) == len(asked.over):
            yield name, use


def _classified(
    asked: Utilization,
    name: str,
    use: Mapping[str, Fraction],
    average: Mapping[str, Fraction],
    *,
    load: ClusterLoad,
    closed: bool,
) -> Classified:
    limits = {resource: _limits(asked, resource, average) for resource in use}
    above = [resource for resource in use if use[resource] > limits[resource][1]]
    below = all(use[resource] <= limits[resource][0] for resource in use)
    kind = "over" if above else "under" if below and not closed else "between"
    said = []
    for resource in above or use:
        low, high = limits[resource]
        value = load.of(name).get("combined" if resource == COMBINED else resource)
        source = "by requests"
        if asked.basis != "requests" and value is not None:
            source = f"{value.source} at {format_instant(value.time)}"
        bound = {"over": f"above {_shown(high)}", "under": f"not above {_shown(low)}"}.get(
            kind, f"within {_shown(low)} to {_shown(high)}"
        )
        mean = f" (average {_shown(average[resource])})" if asked.deviation else ""
        said.append(f"{resource} {_shown(use[resource])} ({source}) is {bound}{mean}")
    if kind == "between" and below and closed:
        said.append("it is cordoned, so it does not count as under-utilised")
    return Classified(node=name, kind=kind, words="; ".join(said))


def _limits(
    asked: Utilization, resource: str, average: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction]:
    low, high = asked.under.get(resource, Fraction(100)), asked.over[resource]
    if not asked.deviation:
        return low, high
    mean = average[resource]
    return max(mean - low, Fraction(0)), min(mean + high, Fraction(100))


def _shown(value: Fraction) -> str:
    return f"{float(round(value, 2)):g} %"
