"""How a descheduler's LowNodeUtilization classifies the nodes: over, under, or neither, in words.

Source: kubernetes-sigs/descheduler, pkg/framework/plugins/nodeutilization (a node is over if any
resource is above its target threshold, under if none is above its threshold; deviations count from
the average and stay within 0..100), and openshift/cluster-kube-descheduler-operator for the profile
KubeVirtRelieveAndMigrate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gitbot.constraints.scheduler.world import World
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import at, condition_of, labels_of, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import PERCENT, ClusterLoad
from gitbot.model.text.decoding import decoding
from gitbot.model.text.instants import format_instant

_POLICY, _CONFIG_MAP, _OPERATOR = "DeschedulerPolicy", "ConfigMap", "KubeDescheduler"
_RELIEVE = ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate")
_DEVIATIONS = {
    "": (0, 10),
    "Low": (10, 10),
    "Medium": (20, 20),
    "High": (30, 30),
    "AsymmetricLow": (0, 10),
    "AsymmetricMedium": (0, 20),
    "AsymmetricHigh": (0, 30),
}
PREDICTIVE = "Predictive"
"""The operator's mode that evicts nothing, and its default."""
_COMBINED = "MetricResource"
_COOLDOWN = "15 minutes to 6 hours"
"""By KubevirtMigrationAware: min(6 h, max(15 min, the last migration) * 2 ** (migrations - 1)).

Source: openshift/descheduler, kubevirt-descheduler-plugins, kubevirtmigrationaware/defaults.go.
"""
SCHEDULABLE = {"kubevirt.io/schedulable": "true"}


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
    labels: Mapping[str, str] = field(default_factory=dict)
    spare: int = 0  # numberOfNodes: it evicts nothing with this many under-utilised nodes or fewer
    excluded: tuple[str, ...] = ()
    mode: str = ""
    name: str = "LowNodeUtilization"
    cooldown: str = ""  # how long it does not touch a VM after a migration, in words

    @property
    def acts(self) -> bool:
        return self.mode != PREDICTIVE


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


def read_policy(file: str, data: bytes) -> tuple[Utilization, ...]:
    """The LowNodeUtilizations of a DeschedulerPolicy, a ConfigMap with one, or a KubeDescheduler.

    Raises SnapshotError if the file has none of these, and InvalidInput if it is not YAML.
    """
    documents = read_kubernetes_yaml(data, file)
    kinds = [str(at(item, "kind")) for item in documents if isinstance(item, Mapping)]
    if not set(kinds) & {_POLICY, _CONFIG_MAP, _OPERATOR}:
        found = ", ".join(kinds) or "no object"
        raise SnapshotError(
            f"{file}: found {found}, expected {_POLICY}, {_OPERATOR}, or a ConfigMap with a policy",
            hint="kubectl get configmap -n kube-system descheduler -o yaml",
        )
    try:
        return tuple(found for item in documents for found in _of_object(file, item))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(f"{file}: the policy has another form: {error!r}") from error


def policies_in(snapshot: ClusterSnapshot) -> tuple[Utilization, ...]:
    """The policies of the cluster's own KubeDescheduler, if it has one. Raises SnapshotError."""
    found: list[Utilization] = []
    for obj in snapshot.of(_OPERATOR):
        with decoding(_OPERATOR, obj):
            found += _of_object("", obj)
    return tuple(found)


def _of_object(file: str, item: Mapping[str, Any]) -> Iterator[Utilization]:
    match item.get("kind"):
        case "ConfigMap":
            for key, text in sorted((item.get("data") or {}).items()):
                if "DeschedulerPolicy" in text:
                    yield from read_policy(f"{file}: data.{key}", text.encode())
        case "DeschedulerPolicy":
            yield from _of_profiles(item)
        case "KubeDescheduler":
            spec = item.get("spec") or {}
            wanted = set(spec.get("profiles") or ())
            mode = str(spec.get("mode") or PREDICTIVE)
            if not wanted.isdisjoint(_RELIEVE):
                given = at(spec, "profileCustomizations", "devDeviationThresholds") or ""
                under, over = _DEVIATIONS[str(given)]
                yield Utilization(
                    under={_COMBINED: Fraction(under)},
                    over={_COMBINED: Fraction(over)},
                    deviation=True,
                    basis="combined",
                    labels=SCHEDULABLE,
                    mode=mode,
                    name=_RELIEVE[0],
                    cooldown=_COOLDOWN,
                )


def _of_profiles(policy: Mapping[str, Any]) -> Iterator[Utilization]:
    for profile in policy.get("profiles") or ():
        enabled = at(profile, "plugins", "balance", "enabled", default=())
        for plugin in profile.get("pluginConfig") or ():
            if plugin.get("name") != "LowNodeUtilization" or plugin["name"] not in enabled:
                continue
            args = plugin.get("args") or {}
            yield Utilization(
                under=_percents(args.get("thresholds") or {}),
                over=_percents(args.get("targetThresholds") or {}),
                deviation=bool(args.get("useDeviationThresholds")),
                basis=_basis(args.get("metricsUtilization") or {}),
                labels=_equals(str(policy.get("nodeSelector") or "")),
                spare=int(args.get("numberOfNodes") or 0),
                excluded=tuple(at(args, "evictableNamespaces", "exclude", default=())),
            )


def _percents(given: Mapping[str, Any]) -> dict[str, Fraction]:
    return {str(name): Fraction(str(value)) for name, value in sorted(given.items())}


def _basis(metrics: Mapping[str, Any]) -> str:
    if metrics.get("source") == "Prometheus":
        return "combined"
    return "load" if metrics.get("metricsServer") or metrics.get("source") else "requests"


def _equals(selector: str) -> dict[str, str]:
    """The equalities of a selector; other requirements are ignored."""
    pairs = (part.partition("=") for part in selector.split(",") if "!" not in part)
    return {key.strip(): value.lstrip("=").strip() for key, sign, value in pairs if sign}


def classify(asked: Utilization, snapshot: ClusterSnapshot, load: ClusterLoad) -> Classification:
    """The plugin's result. A node without a needed value is unknown, never guessed."""
    nodes = {
        name_of(node).name: node
        for node in snapshot.of("Node")
        if asked.labels.items() <= labels_of(node).items()
        and (condition_of(node, "Ready") or {}).get("status", "True") == "True"
    }
    usage = dict(_usage(asked, snapshot, load, nodes))
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
    asked: Utilization, snapshot: ClusterSnapshot, load: ClusterLoad, nodes: Iterable[str]
) -> Iterator[tuple[str, dict[str, Fraction]]]:
    world = World.of(snapshot)
    size = {node.name: node.allocatable for node in world.nodes}
    for name in nodes:
        free, use = world.free(name), dict[str, Fraction]()
        for resource in asked.over:
            measured = load.of(name).get("combined" if resource == _COMBINED else resource)
            if asked.basis != "requests" and resource != "pods":
                if measured is not None:
                    use[resource] = Fraction(measured.amount, PERCENT)
            elif size[name].get(resource):
                taken = size[name][resource] - free[resource]
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
        value = load.of(name).get("combined" if resource == _COMBINED else resource)
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
