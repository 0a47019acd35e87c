"""nodeSelector and node affinity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import default_normalise
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.model.cluster.columns import Mask, NodeColumns, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod

_PLUGIN = "NodeAffinity"
_TEXT = "node(s) didn't match Pod's node affinity/selector"


def accepts(pod: Pod, node: Node) -> bool:
    return allows(pod.node_selector, pod.affinity.required_nodes, node)


def allows(selector: Mapping[str, str], terms: tuple[NodeMatcher, ...] | None, node: Node) -> bool:
    """Whether a nodeSelector and the required terms (None: every node) accept a node."""
    for key, value in selector.items():  # a plain loop: this runs for every pod
        if node.labels.get(key) != value:
            return False
    return terms is None or any(term.matches(node.labels, node.name) for term in terms)


def accepted(pod: Pod, columns: NodeColumns) -> Mask:
    """Like `accepts`, over all nodes; shape (nodes,)."""
    mask = columns.everywhere()
    for key, value in pod.node_selector.items():
        mask &= columns.label(key).where(lambda found, wanted=value: found == wanted)  # type: ignore[misc]
    if pod.affinity.required_nodes is not None:
        matched = columns.nowhere()
        for term in pod.affinity.required_nodes:
            matched |= term_mask(term, columns)
        mask &= matched
    return mask


def term_mask(term: NodeMatcher, columns: NodeColumns) -> Mask:
    if not term.usable:
        return columns.nowhere()
    mask = columns.everywhere()
    for requirement in term.expressions:
        mask &= columns.label(requirement.key).where(requirement.accepts)
    for requirement in term.fields:
        mask &= np.array([requirement.accepts(name) for name in columns.names], dtype=bool)
    return mask


def pinned_names(pod: Pod) -> frozenset[str] | None:
    """The node names that every term pins; None if a term pins none (PreFilter's shortcut)."""
    terms = pod.affinity.required_nodes
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        pinned = term.pinned_names
        if pinned is None:
            return None
        names |= pinned
    return frozenset(names)


class NodeAffinityFilter:
    """All labels of nodeSelector, and one of the required terms."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod
        self._pinned = pinned_names(pod)

    def whole(self) -> Rejection | None:
        """Contradicting pins reject the pod everywhere."""
        if self._pinned is None or self._pinned:
            return None
        return Rejection(
            plugin=_PLUGIN,
            reasons=("pod affinity terms conflict",),
            early=True,
            details=("the metadata.name pins of its node affinity leave no node",),
        )

    def mask(self) -> Mask:
        return accepted(self._pod, self._state.columns)

    def reject(self, node: int) -> Rejection | None:
        found = self._state.nodes[node]
        pruned = self._pinned is not None and found.name not in self._pinned
        if not pruned and accepts(self._pod, found):
            return None
        text = "node(s) didn't satisfy plugin(s) [NodeAffinity]" if pruned else _TEXT
        return Rejection(
            plugin=_PLUGIN,
            reasons=(text,),
            early=pruned,
            details=_details(self._pod, found),
        )


def prepare(state: State, pod: Pod) -> NodeAffinityFilter | None:
    asks = pod.node_selector or pod.affinity.required_nodes is not None
    return NodeAffinityFilter(state, pod) if asks else None


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    if not pod.affinity.preferred_nodes:
        return None
    total = np.zeros(len(state.columns), dtype=np.int64)
    for preferred in pod.affinity.preferred_nodes:
        if preferred.weight and not preferred.term.empty:
            total += preferred.weight * term_mask(preferred.term, state.columns)
    return default_normalise(total[numbers], reverse=False)


def _details(pod: Pod, node: Node) -> tuple[str, ...]:
    lines = [
        f"nodeSelector wants {key}={value}, the node has {_found(node, key)}"
        for key, value in sorted(pod.node_selector.items())
        if node.labels.get(key) != value
    ]
    terms = pod.affinity.required_nodes
    if terms is not None and not any(term.matches(node.labels, node.name) for term in terms):
        lines += [f"node affinity wants {line}" for line in misses(terms, node)]
    return tuple(lines)


def misses(terms: tuple[NodeMatcher, ...], node: Node) -> list[str]:
    """The demands of each usable term that the node does not meet, in words."""
    if not any(term.usable for term in terms):
        return ["something that no node can match: its terms are empty or malformed"]
    return [
        " and ".join(
            [
                *(
                    f"{item.words} (the node has {_found(node, item.key)})"
                    for item in term.expressions
                    if not item.accepts(node.labels.get(item.key))
                ),
                *(
                    f"{item.words} (the node is {node.name})"
                    for item in term.fields
                    if not item.accepts(node.name)
                ),
            ]
        )
        for term in terms
        if term.usable
    ]


def _found(node: Node, key: str) -> str:
    return repr(node.labels[key]) if key in node.labels else "none"
