"""Topology domains of nodes, and their names in messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

from gitbot.constraints.scheduler.label_index import LabelIndex
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at
from gitbot.kubernetes.selectors import LabelMatcher, NodeMatcher
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, ZONE
from gitbot.model.text.wording import first_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OLD_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
}


class Domains:
    """Label values of nodes by key."""

    __slots__ = ("_by_label", "_chosen", "_columns", "_matching", "_values", "names", "nodes")

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.name: node for node in sorted(nodes, key=lambda node: node.name)}
        self.names = frozenset(self.nodes)
        self._columns: dict[str, dict[str, str]] = {}
        self._values: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
        self._matching: dict[tuple[NodeMatcher, ...], frozenset[str]] = {}
        self._by_label: LabelIndex[Node] | None = None
        self._chosen: dict[Hashable, frozenset[str]] = {}

    def column(self, key: str) -> Mapping[str, str]:
        """Node to value, for nodes that have the label."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = {
                name: node.labels[key] for name, node in self.nodes.items() if key in node.labels
            }
        return column

    def values(self, key: str, among: frozenset[str] | None = None) -> tuple[str, ...]:
        """The values that nodes have, of all nodes or of some; sorted."""
        nodes = self.names if among is None else among
        found = self._values.get((key, nodes))
        if found is None:
            column = self.column(key)
            held = {column[node] for node in nodes if node in column}
            found = self._values[key, nodes] = tuple(sorted(held))
        return found

    def matching(self, terms: Iterable[NodeMatcher]) -> frozenset[str]:
        """The nodes that at least one of the terms matches."""
        wanted = tuple(terms)
        found = self._matching.get(wanted)
        if found is None:
            found = self._matching[wanted] = frozenset(
                node.name
                for term in wanted
                for node in self._candidates(term)
                if term.matches(node.labels, node.name)
            )
        return found

    def chosen(self, key: Hashable, chooses: Callable[[Node], bool]) -> frozenset[str]:
        """The nodes that `chooses` accepts, computed once for each key: many rules share one."""
        found = self._chosen.get(key)
        if found is None:
            chosen = (name for name, node in self.nodes.items() if chooses(node))
            found = self._chosen[key] = frozenset(chosen)
        return found

    def _candidates(self, term: NodeMatcher) -> Iterator[Node]:
        if term.pinned_names is not None:
            return (self.nodes[name] for name in term.pinned_names if name in self.nodes)
        if self._by_label is None:
            self._by_label = LabelIndex(("", node.labels, node) for node in self.nodes.values())
        return self._by_label.matching(LabelMatcher(requirements=term.expressions))

    def unlabelled(self, key: str) -> tuple[str, ...]:
        column = self.column(key)
        return tuple(name for name in self.nodes if name not in column)


def domain_words(key: str, value: str) -> str:
    """`zone scu`, `node kni-worker2`, or `rack=r7` with the full key."""
    match key:
        case "topology.kubernetes.io/zone":
            return f"zone {value}"
        case "kubernetes.io/hostname":
            return f"node {value}"
        case "topology.kubernetes.io/region":
            return f"region {value}"
        case _:
            return f"{key}={value}"


def people(vms: Iterable[NamespacedName], places: Mapping[NamespacedName, Iterable[str]]) -> str:
    """`mssql2016 on kni-worker2, …`: names without the namespace, at most four."""
    return first_of([f"{vm.name} on {'+'.join(sorted(places[vm]))}" for vm in sorted(vms)], 4)


def key_advice(
    domains: Domains, key: str, *, among: Collection[str] | None = None
) -> tuple[str, ...]:
    """What is wrong with a topology key on these nodes, and a better key if one is known.

    Reports missing labels of the nodes in `among` only; None means all nodes.
    """
    new = replaced_by(key)
    old = (f"{key} is deprecated; write {new}",) if new else ()
    return (*old, *missing_labels(domains, key, among=among))


def replaced_by(key: str) -> str:
    """The label that Kubernetes writes instead of a deprecated one; "" for any other key."""
    return _OLD_KEYS.get(key, "")


def limited_keys(spec: Json) -> set[str]:
    """Topology keys of required anti-affinity that LimitPodHardAntiAffinityTopology refuses.

    Source: kubernetes, plugin/pkg/admission/antiaffinity/admission.go: all but the hostname, in
    pods that are created or updated. So a cluster with such a pod runs without the plugin.
    """
    terms = at(spec, "affinity", "podAntiAffinity", _REQUIRED, default=())
    return {str(term.get("topologyKey")) for term in terms} - {HOSTNAME}


def deprecated_in(pod: Pod) -> tuple[str, ...]:
    """The deprecated labels of nodes that a pod's selector and terms name, also preferred ones."""
    affinity = pod.affinity
    wishes = (wish.term for wish in affinity.preferred_nodes)
    nodes = (*(affinity.required_nodes or ()), *wishes)
    pods = (wish.term for wish in affinity.preferred_pods)
    keys = {
        *pod.node_selector,
        *(item.key for term in nodes for item in term.expressions),
        *(t.topology_key for t in (*pods, *affinity.required_pods, *affinity.required_anti)),
        *(one.topology_key for one in pod.spread),
    }
    return tuple(sorted(keys & _OLD_KEYS.keys()))


def missing_labels(
    domains: Domains, key: str, *, among: Collection[str] | None = None
) -> tuple[str, ...]:
    """As `key_advice`, about the labels of nodes alone."""
    if domains.nodes and not domains.column(key):
        return (f"no node has label {key}{_nearest(domains, key)}",)
    missing = [n for n in domains.unlabelled(key) if among is None or n in among]
    return (f"nodes without label {key}: {', '.join(missing)}",) if missing else ()


def _nearest(domains: Domains, key: str) -> str:
    """A key of some node that ends in the same word, or the usual typo of the hostname key."""
    word = key.rpartition("/")[2]
    present = sorted({label for node in domains.nodes.values() for label in node.labels})
    alike = [label for label in present if label.rpartition("/")[2] == word]
    if word == "hostname":
        alike = [HOSTNAME]
    return f"; write {alike[0]}" if alike else ""
