"""PlacementRule: Kubernetes' own words over a VM selector, checked over the places of VMs.

The terms are those of core/v1. Peers are VMs by the labels of their VMIs, and pods that are no
launcher pods, which stand where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitbot.constraints.instances import Instances
from gitbot.constraints.node_affinity import words
from gitbot.constraints.rule_parts import ApartPart, NearPart, NodePart, Part, Peers, SpreadPart
from gitbot.constraints.zone_anti_affinity import select_vms
from gitbot.model.constraint import Breach, Occupancy
from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.objects import Json, at
from gitbot.model.scheduling import AffinityTerm, SpreadConstraint
from gitbot.model.selectors import LabelSelector, NodeSelectorTerm

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRule:
    """The required terms of one PlacementRule, or its preferred ones.

    Breach keys: `node-affinity:<vm>`, `affinity:<vm>`, `anti-affinity:<key>=<value>`,
    `spread[<n>]`; with `preferred-` before them for preferred terms, whose amounts are weights.
    """

    ref: IntentRef
    parts: tuple[Part, ...]
    members: frozenset[NamespacedName]
    required: bool = True

    @property
    def monotone(self) -> bool:
        """Whether no part is made worse by a place given up."""
        return all(part.monotone for part in self.parts)

    def signature(self, node: str) -> object:
        """What its parts see of a node."""
        return tuple(part.signature(node) for part in self.parts)

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        """All misses of all parts, sorted by key."""
        found = [
            Breach(
                rule=self.ref,
                key=miss.key,
                amount=miss.amount,
                message=miss.message,
                vms=miss.vms,
            )
            for part in self.parts
            for miss in part.misses(occupancy)
        ]
        return tuple(sorted(found, key=lambda breach: breach.key))

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """The first part that says no, in words."""
        texts = (part.explain(vm, node, occupancy) for part in self.parts)
        return next((text for text in texts if text), "")


def placement_rules(
    instances: Instances,
    *,
    ref: IntentRef,
    namespace: str,
    selector: Mapping[str, Any],
    node_affinity: Json | None = None,
    affinity: Json | None = None,
    anti_affinity: Json | None = None,
    topology_spread: Sequence[Json] = (),
    required: bool = True,
) -> tuple[PlacementRule, ...]:
    """One rule of the required terms and one of the preferred terms; those without terms left out.

    All terms as Kubernetes JSON. `required` is enforcement Required; the rule of the preferred
    terms is never required.
    """
    subjects = select_vms(instances, namespace, selector)
    hard = [
        *_node_parts(instances, subjects, node_affinity),
        *_near_parts(instances, subjects, affinity),
        *_apart_parts(instances, subjects, anti_affinity),
    ]
    soft = [
        *_preferred_nodes(instances, subjects, node_affinity),
        *_preferred_near(instances, subjects, affinity),
        *_preferred_apart(instances, subjects, anti_affinity),
    ]
    for number, constraint in enumerate(topology_spread):
        part = _spread_part(instances, namespace, number, constraint, node_affinity)
        (hard if part.constraint.hard else soft).append(part)
    rules = (_rule(ref, subjects, hard, required), _rule(ref, subjects, soft, required=False))
    return tuple(rule for rule in rules if rule.parts)


def _rule(
    ref: IntentRef,
    subjects: frozenset[NamespacedName],
    parts: Iterable[Part],
    required: bool,
) -> PlacementRule:
    listed = tuple(parts)
    members = subjects.union(*(part.members for part in listed))
    return PlacementRule(ref=ref, parts=listed, members=members, required=required)


def _matching(instances: Instances, terms: Iterable[NodeSelectorTerm]) -> frozenset[str]:
    listed = tuple(terms)
    return frozenset(
        name
        for name, node in instances.domains.nodes.items()
        if any(term.matches(node.labels, name) for term in listed)
    )


def _node_parts(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    raw = at(affinity, _REQUIRED, "nodeSelectorTerms")
    if raw is None:
        return []
    terms = [NodeSelectorTerm.of(item) for item in raw]
    return [
        NodePart(
            name="node-affinity",
            subjects=subjects,
            nodes=_matching(instances, terms),
            wanted=" or ".join(_term_words(term) for term in terms),
        )
    ]


def _preferred_nodes(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    parts: list[Part] = []
    for number, item in enumerate(at(affinity, _PREFERRED, default=())):
        term = NodeSelectorTerm.of(item.get("preference") or {})
        parts.append(
            NodePart(
                name=f"preferred-node-affinity[{number}]",
                subjects=subjects,
                nodes=_matching(instances, [term]),
                wanted=_term_words(term),
                weight=int(item.get("weight") or 1),
            )
        )
    return parts


def _term_words(term: NodeSelectorTerm) -> str:
    return "nodes with " + " and ".join(words(item) for item in (*term.expressions, *term.fields))


def _peers(
    instances: Instances, subjects: frozenset[NamespacedName], raw: Sequence[Json]
) -> dict[NamespacedName, tuple[tuple[AffinityTerm, Peers], ...]]:
    """For each subject its terms (matchLabelKeys merged) with the VMs and pods of each."""
    known: dict[AffinityTerm, Peers] = {}
    found = {}
    for vm in sorted(subjects):
        terms = [
            AffinityTerm.of(item, namespace=vm.namespace, labels=instances[vm].labels)
            for item in raw
        ]
        for term in terms:
            if term not in known:
                known[term] = _peers_of(instances, term)
        found[vm] = tuple((term, known[term]) for term in terms)
    return found


def _peers_of(instances: Instances, term: AffinityTerm) -> Peers:
    def matches(namespace: str, labels: Mapping[str, str]) -> bool:
        spaces = instances.namespace_labels(namespace)
        return term.reaches(namespace, spaces) and term.selector.matches(labels)

    return Peers(
        topology_key=term.topology_key,
        vms=frozenset(vm for vm, item in instances.items() if matches(vm.namespace, item.labels)),
        fixed=frozenset(
            pod.node for pod in instances.standing if matches(pod.namespace, pod.labels)
        ),
    )


def _near_parts(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    raw = at(affinity, _REQUIRED, default=())
    return [_near(instances, "affinity", _peers(instances, subjects, raw))] if raw else []


def _near(
    instances: Instances,
    name: str,
    found: Mapping[NamespacedName, tuple[tuple[AffinityTerm, Peers], ...]],
    weight: int = 1,
) -> NearPart:
    company = {}
    for vm, terms in found.items():
        vms = frozenset.intersection(*(peers.vms for _, peers in terms))
        fixed = frozenset.intersection(*(peers.fixed for _, peers in terms))
        company[vm] = tuple(
            Peers(topology_key=peers.topology_key, vms=vms, fixed=fixed) for _, peers in terms
        )
    first = frozenset(vm for vm, terms in company.items() if all(vm in p.vms for p in terms))
    return NearPart(
        name=name, domains=instances.domains, company=company, first=first, weight=weight
    )


def _preferred_near(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    return [
        _near(
            instances,
            f"preferred-affinity[{number}]",
            _peers(instances, subjects, [item.get("podAffinityTerm") or {}]),
            int(item.get("weight") or 1),
        )
        for number, item in enumerate(at(affinity, _PREFERRED, default=()))
    ]


def _apart_parts(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    raw = at(affinity, _REQUIRED, default=())
    return [_apart(instances, subjects, "anti-affinity", raw, 1)] if raw else []


def _apart(
    instances: Instances,
    subjects: frozenset[NamespacedName],
    name: str,
    raw: Sequence[Json],
    weight: int,
) -> ApartPart:
    found = _peers(instances, subjects, raw)
    foes = {vm: tuple(peers for _, peers in terms) for vm, terms in found.items()}
    return ApartPart(name=name, domains=instances.domains, foes=foes, weight=weight)


def _preferred_apart(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[Part]:
    return [
        _apart(
            instances,
            subjects,
            f"preferred-anti-affinity[{number}]",
            [item.get("podAffinityTerm") or {}],
            int(item.get("weight") or 1),
        )
        for number, item in enumerate(at(affinity, _PREFERRED, default=()))
    ]


def _spread_part(
    instances: Instances,
    namespace: str,
    number: int,
    raw: Json,
    node_affinity: Json | None,
) -> SpreadPart:
    constraint = SpreadConstraint.of(raw, {})
    terms = at(node_affinity, _REQUIRED, "nodeSelectorTerms")
    nodes = frozenset(instances.domains.nodes)
    if terms is not None and constraint.honor_affinity:
        nodes = _matching(instances, [NodeSelectorTerm.of(item) for item in terms])
    selector: LabelSelector = constraint.selector
    counted = frozenset(
        vm
        for vm, item in instances.items()
        if vm.namespace == namespace and selector.matches(item.labels)
    )
    fixed = tuple(
        pod.node
        for pod in instances.standing
        if pod.namespace == namespace and selector.matches(pod.labels)
    )
    return SpreadPart(
        name=f"{'' if constraint.hard else 'preferred-'}spread[{number}]",
        domains=instances.domains,
        constraint=constraint,
        counted=counted,
        nodes=nodes,
        fixed=fixed,
    )
