"""A pod's own rules for its placement: tolerations, affinity terms, spread constraints, ports.

Decoded once from Kubernetes' JSON. Source of the semantics: kube-scheduler (named at each
value) and the pod strategy of the API server, which merges matchLabelKeys into selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitbot.kubernetes.objects import at
from gitbot.kubernetes.selectors import LabelMatcher, NodeMatcher, Requirement
from gitbot.model.caches import ContentCache, IdentityCache

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Taint:
    """A node's taint."""

    key: str
    value: str = ""
    effect: str = ""

    @classmethod
    def of(cls, taint: Mapping[str, Any]) -> Taint:
        return cls(
            key=taint.get("key") or "",
            value=taint.get("value") or "",
            effect=taint.get("effect") or "",
        )

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Toleration:
    """A pod's toleration. tolerationSeconds does not affect scheduling."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    @classmethod
    def of(cls, toleration: Mapping[str, Any]) -> Toleration:
        return cls(
            key=toleration.get("key") or "",
            operator=toleration.get("operator") or "",
            value=toleration.get("value") or "",
            effect=toleration.get("effect") or "",
        )

    def tolerates(self, taint: Taint) -> bool:
        """Source: api core/v1/toleration.go; Gt and Lt are gated off in 1.36 and never match."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
            case _:
                return False


def reads_labels(spaces: LabelMatcher | None) -> bool:
    """Whether a namespaceSelector reads more of a namespace than its name."""
    return spaces is not None and any(item.key != NAMESPACE_NAME for item in spaces.requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """One pod (anti-)affinity term of a pod. Equal terms of different pods are equal values.

    `namespaces` holds the owner's namespace if the term names neither namespaces nor a
    namespaceSelector.
    """

    selector: LabelMatcher
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelMatcher | None = None

    @classmethod
    def of(
        cls, term: Mapping[str, Any], *, namespace: str, labels: Mapping[str, str]
    ) -> AffinityTerm:
        names = frozenset(str(name) for name in term.get("namespaces") or ())
        raw = term.get("namespaceSelector")
        if not names and raw is None:
            names = frozenset({namespace})
        return cls(
            selector=LabelMatcher.of(term.get("labelSelector")).merged(_own_keys(term, labels)),
            topology_key=term.get("topologyKey") or "",
            namespaces=names,
            namespace_selector=None if raw is None else LabelMatcher.of(raw),
        )

    def reaches(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches(
            namespace_labels
        )

    def in_doubt(self, namespace: str) -> bool:
        """Whether labels of the namespace besides its name decide if the term reaches it."""
        spaces = self.namespace_selector
        if spaces is None or namespace in self.namespaces or not reads_labels(spaces):
            return False
        named = (item for item in spaces.requirements if item.key == NAMESPACE_NAME)
        return all(item.accepts(namespace) for item in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedTerm:
    """A preferred pod (anti-)affinity term; anti-affinity has a negative weight."""

    term: AffinityTerm
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePreference:
    """A preferred node affinity term with its weight."""

    term: NodeMatcher
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadConstraint:
    """One topologySpreadConstraint. `hard` is DoNotSchedule; the policies default as in the API."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelMatcher
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False

    @classmethod
    def of(cls, constraint: Mapping[str, Any], labels: Mapping[str, str]) -> SpreadConstraint:
        keys = constraint.get("matchLabelKeys") or ()
        own = [Requirement(key=k, operator="In", values=(labels[k],)) for k in keys if k in labels]
        return cls(
            topology_key=constraint.get("topologyKey") or "",
            max_skew=int(constraint.get("maxSkew") or 1),
            hard=(constraint.get("whenUnsatisfiable") or "DoNotSchedule") == "DoNotSchedule",
            selector=LabelMatcher.of(constraint.get("labelSelector")).merged(own),
            min_domains=int(constraint.get("minDomains") or 1),
            honor_affinity=constraint.get("nodeAffinityPolicy", "Honor") != "Ignore",
            honor_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HostPort:
    """A host port that a pod takes on its node."""

    ip: str
    protocol: str
    port: int

    def clashes(self, other: HostPort) -> bool:
        """0.0.0.0 clashes with every address of the same port and protocol."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip)  # noqa: S104 - compared only


@dataclass(frozen=True, slots=True, kw_only=True)
class Affinity:
    """A pod's affinity block. `required_nodes` None: every node; empty: none."""

    required_nodes: tuple[NodeMatcher, ...] | None = None
    preferred_nodes: tuple[NodePreference, ...] = ()
    required_pods: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred_pods: tuple[WeightedTerm, ...] = field(default=())

    @classmethod
    def of(cls, spec: Mapping[str, Any], *, namespace: str, labels: Mapping[str, str]) -> Affinity:
        affinity = spec.get("affinity")
        if not affinity:
            return _NO_AFFINITY
        known = _by_namespace(affinity)
        found = known.get(namespace)
        if found is None:
            found = known[namespace] = _affinity(affinity, namespace)
        return found or _labelled(affinity, namespace, labels)


def _affinity_of(
    affinity: Mapping[str, Any], namespace: str, labels: Mapping[str, str]
) -> Affinity:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    nodes = at(affinity, "nodeAffinity", required)

    def terms(block: str) -> tuple[AffinityTerm, ...]:
        raw = at(affinity, block, required, default=())
        return tuple(AffinityTerm.of(t, namespace=namespace, labels=labels) for t in raw)

    return Affinity(
        required_nodes=None if nodes is None else _node_terms(nodes.get("nodeSelectorTerms") or ()),
        preferred_nodes=_preferred_nodes(affinity),
        required_pods=terms("podAffinity"),
        required_anti=terms("podAntiAffinity"),
        preferred_pods=(
            *_preferred_pods(affinity, "podAffinity", 1, namespace, labels),
            *_preferred_pods(affinity, "podAntiAffinity", -1, namespace, labels),
        ),
    )


_NO_AFFINITY = Affinity()
_labelled = ContentCache(_affinity_of)
_node_terms = ContentCache(lambda terms: tuple(NodeMatcher.of(item) for item in terms))


def _plain(affinity: Mapping[str, Any], namespace: str) -> Affinity | Literal[False]:
    """False if it takes values from the pod's labels (matchLabelKeys, mismatchLabelKeys)."""
    return "atchLabelKeys" not in str(affinity) and _affinity_of(affinity, namespace, {})


_affinity = ContentCache(_plain)


def _none_yet(_affinity: Mapping[str, Any]) -> dict[str, Affinity | Literal[False]]:
    return {}


_by_namespace = IdentityCache(_none_yet)


def _preferred_nodes(affinity: Mapping[str, Any]) -> tuple[NodePreference, ...]:
    raw = at(
        affinity, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", default=()
    )
    return tuple(
        NodePreference(
            term=NodeMatcher.of(item.get("preference") or {}),
            weight=int(item.get("weight") or 0),
        )
        for item in raw
    )


def _preferred_pods(
    affinity: Mapping[str, Any], block: str, sign: int, namespace: str, labels: Mapping[str, str]
) -> tuple[WeightedTerm, ...]:
    raw = at(affinity, block, "preferredDuringSchedulingIgnoredDuringExecution", default=())
    return tuple(
        WeightedTerm(
            term=AffinityTerm.of(
                item.get("podAffinityTerm") or {}, namespace=namespace, labels=labels
            ),
            weight=sign * int(item.get("weight") or 0),
        )
        for item in raw
    )


def _own_keys(term: Mapping[str, Any], labels: Mapping[str, str]) -> list[Requirement]:
    """The expressions that the API server makes of matchLabelKeys and mismatchLabelKeys."""
    return [
        Requirement(key=key, operator=operator, values=(labels[key],))
        for words, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(words) or ()
        if key in labels
    ]
