"""Topology domains of nodes, and the words that people use for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gitbot.model.names import NamespacedName
from gitbot.model.node import Node
from gitbot.model.scheduling import HOSTNAME, ZONE

_OLD_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
}


class Domains:
    """Label values of nodes by key."""

    __slots__ = ("_columns", "nodes")

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.name: node for node in sorted(nodes, key=lambda node: node.name)}
        self._columns: dict[str, dict[str, str]] = {}

    def column(self, key: str) -> Mapping[str, str]:
        """Node to value, for the nodes that have the label."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = {
                name: node.labels[key] for name, node in self.nodes.items() if key in node.labels
            }
        return column

    def values(self, key: str) -> tuple[str, ...]:
        """All domains of a key, sorted."""
        return tuple(sorted(set(self.column(key).values())))

    def unlabelled(self, key: str) -> tuple[str, ...]:
        """The nodes without the label, sorted."""
        column = self.column(key)
        return tuple(name for name in self.nodes if name not in column)


def domain_words(key: str, value: str) -> str:
    """`zone scu`, `node kni-worker2`, else `rack=r7` with the whole key."""
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
    listed = sorted(vms)
    words = [f"{vm.name} on {'+'.join(sorted(places[vm]))}" for vm in listed[:4]]
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(words) + more


def key_advice(
    domains: Domains, key: str, *, among: Collection[str] | None = None
) -> tuple[str, ...]:
    """What is wrong with a topology key on these nodes, with the better key where one is known.

    Of nodes without it, only those `among` are named; all of them where it is None.
    """
    lines = []
    if key in _OLD_KEYS:
        lines.append(f"{key} is deprecated; write {_OLD_KEYS[key]}")
    if domains.nodes and not domains.column(key):
        lines.append(f"no node has label {key}{_nearest(domains, key)}")
    elif missing := [n for n in domains.unlabelled(key) if among is None or n in among]:
        lines.append(f"nodes without label {key}: {', '.join(missing)}")
    return tuple(lines)


def _nearest(domains: Domains, key: str) -> str:
    """A key that nodes do have and that ends in the same word, or the hostname's usual mistake."""
    word = key.rpartition("/")[2]
    present = sorted({label for node in domains.nodes.values() for label in node.labels})
    alike = [label for label in present if label.rpartition("/")[2] == word]
    if word == "hostname":
        alike = [HOSTNAME]
    return f"; write {alike[0]}" if alike else ""
