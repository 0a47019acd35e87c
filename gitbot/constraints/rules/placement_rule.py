"""PlacementRule: Kubernetes' own terms over a VM selector, checked on the nodes of VMs.

The terms are those of core/v1. Peers are VMs by the labels of their VMIs, and other pods, which do
not move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.rule_parts import (
    AffinityPart,
    AntiAffinityPart,
    NodePart,
    Peers,
    RulePart,
    SpreadPart,
)
from gitbot.constraints.rules.zone_anti_affinity import select_vms
from gitbot.constraints.scheduler.filters.node_affinity import allows
from gitbot.constraints.scheduler.filters.taints import untolerated
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.scheduling import Affinity, AffinityTerm, SpreadConstraint, Toleration
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.text.names import IntentRef

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRule(NoMaximum):
    """The required terms of one PlacementRule, or its preferred ones.

    Breach keys: `node-affinity:<vm>`, `affinity:<vm>`, `anti-affinity:<key>=<value>`,
    `spread[<n>]`, with `:<key>=<value>` for each of its `matchLabelKeys`; with the prefix
    `preferred-` for preferred terms, whose amounts are weights.
    """

    ref: IntentRef
    parts: tuple[RulePart, ...]
    members: frozenset[NamespacedName]
    required: bool = True

    @property
    def monotone(self) -> bool:
        return all(part.monotone for part in self.parts)

    def signature(self, node: str) -> object:
        return tuple(part.signature(node) for part in self.parts)

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
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

    def kind(self, vm: NamespacedName) -> object:
        return tuple(part.kind(vm) for part in self.parts)

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        return {
            (number, key): amount
            for number, part in enumerate(self.parts)
            for key, amount in part.amounts(occupancy).items()
        }

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
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
    """One rule for the required terms and one for the preferred terms, if it has any.

    All terms are Kubernetes JSON. `required` means enforcement Required; the rule of the preferred
    terms is never required.
    """
    subjects = select_vms(instances, namespace, selector)
    hard = [
        *_node_parts(instances, subjects, node_affinity),
        *_required(_near, instances, subjects, affinity, "affinity"),
        *_required(_apart, instances, subjects, anti_affinity, "anti-affinity"),
    ]
    soft = [
        *_preferred_nodes(instances, subjects, node_affinity),
        *_preferred(_near, instances, subjects, affinity, "affinity"),
        *_preferred(_apart, instances, subjects, anti_affinity, "anti-affinity"),
    ]
    for number, constraint in enumerate(topology_spread):
        found = _spread_parts(
            instances,
            subjects,
            constraint,
            namespace=namespace,
            number=number,
            node_affinity=node_affinity,
        )
        for part in found:
            (hard if part.constraint.hard else soft).append(part)
    rules = (_rule(ref, subjects, hard, required), _rule(ref, subjects, soft, required=False))
    return tuple(rule for rule in rules if rule.parts)


def _rule(
    ref: IntentRef,
    subjects: frozenset[NamespacedName],
    parts: Iterable[RulePart],
    required: bool,
) -> PlacementRule:
    listed = tuple(parts)
    members = subjects.union(*(part.members for part in listed))
    return PlacementRule(ref=ref, parts=listed, members=members, required=required)


def _node_parts(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[RulePart]:
    raw = at(affinity, _REQUIRED, "nodeSelectorTerms")
    if raw is None:
        return []
    terms = [NodeMatcher.of(item) for item in raw]
    return [
        NodePart(
            name="node-affinity",
            subjects=subjects,
            nodes=instances.domains.matching(terms),
            wanted=" or ".join(_term_words(term) for term in terms),
        )
    ]


def _preferred_nodes(
    instances: Instances, subjects: frozenset[NamespacedName], affinity: Json | None
) -> list[RulePart]:
    parts: list[RulePart] = []
    for number, item in enumerate(at(affinity, _PREFERRED, default=())):
        term = NodeMatcher.of(item.get("preference") or {})
        parts.append(
            NodePart(
                name=f"preferred-node-affinity[{number}]",
                subjects=subjects,
                nodes=instances.domains.matching([term]),
                wanted=_term_words(term),
                weight=int(item.get("weight") or 1),
            )
        )
    return parts


def _term_words(term: NodeMatcher) -> str:
    return "nodes with " + " and ".join(item.words for item in (*term.expressions, *term.fields))


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
    spaces = instances.reached(term)
    return Peers(
        topology_key=term.topology_key,
        vms=frozenset(instances.by_label.matching(term.selector, spaces)),
        fixed=frozenset(instances.standing_by_label.matching(term.selector, spaces)),
    )


_MakePart = Callable[[Instances, frozenset[NamespacedName], str, Sequence[Json], int], RulePart]


def _required(
    make: _MakePart,
    instances: Instances,
    subjects: frozenset[NamespacedName],
    affinity: Json | None,
    name: str,
) -> list[RulePart]:
    raw = at(affinity, _REQUIRED, default=())
    return [make(instances, subjects, name, raw, 1)] if raw else []


def _preferred(
    make: _MakePart,
    instances: Instances,
    subjects: frozenset[NamespacedName],
    affinity: Json | None,
    name: str,
) -> list[RulePart]:
    return [
        make(
            instances,
            subjects,
            f"preferred-{name}[{number}]",
            [item.get("podAffinityTerm") or {}],
            int(item.get("weight") or 1),
        )
        for number, item in enumerate(at(affinity, _PREFERRED, default=()))
    ]


def _near(
    instances: Instances,
    subjects: frozenset[NamespacedName],
    name: str,
    raw: Sequence[Json],
    weight: int,
) -> AffinityPart:
    shared: dict[tuple[AffinityTerm, ...], tuple[Peers, ...]] = {}  # most subjects ask for the same
    company = {}
    for vm, terms in _peers(instances, subjects, raw).items():
        asked = tuple(term for term, _ in terms)
        if asked not in shared:
            vms = frozenset.intersection(*(peers.vms for _, peers in terms))
            fixed = frozenset.intersection(*(peers.fixed for _, peers in terms))
            shared[asked] = tuple(
                Peers(topology_key=peers.topology_key, vms=vms, fixed=fixed) for _, peers in terms
            )
        company[vm] = shared[asked]
    first = frozenset(vm for vm, terms in company.items() if all(vm in p.vms for p in terms))
    return AffinityPart(
        name=name, domains=instances.domains, terms=company, first=first, weight=weight
    )


def _apart(
    instances: Instances,
    subjects: frozenset[NamespacedName],
    name: str,
    raw: Sequence[Json],
    weight: int,
) -> AntiAffinityPart:
    found = _peers(instances, subjects, raw)
    foes = {vm: tuple(peers for _, peers in terms) for vm, terms in found.items()}
    return AntiAffinityPart(name=name, domains=instances.domains, terms=foes, weight=weight)


def _spread_parts(
    instances: Instances,
    subjects: frozenset[NamespacedName],
    raw: Json,
    *,
    namespace: str,
    number: int,
    node_affinity: Json | None,
) -> Iterator[SpreadPart]:
    """One part; with `matchLabelKeys` one for each combination of the subjects' values of these.

    As in a pod, a key that the subject lacks does not restrict what counts.
    """
    keys = raw.get("matchLabelKeys") or ()
    alike = grouped((_values(instances[vm].labels, keys), vm) for vm in sorted(subjects))
    for own, vms in alike.items() if keys else [((), subjects)]:
        constraint = SpreadConstraint.of(raw, dict(own))
        nodes = _counting(instances, vms, constraint, node_affinity)
        standing = instances.standing_by_label.matching(constraint.selector, (namespace,))
        name = f"{'' if constraint.hard else 'preferred-'}spread[{number}]"
        yield SpreadPart(
            name=name + "".join(f":{key}={value}" for key, value in own),
            domains=instances.domains,
            constraint=constraint,
            among=" and ".join(f"{key}={value}" for key, value in own),
            counted=frozenset(instances.by_label.matching(constraint.selector, (namespace,))),
            nodes=nodes,
            fixed=tuple(sorted(node for node in standing if node in nodes)),
        )


def _values(labels: Mapping[str, str], keys: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, labels[key]) for key in keys if key in labels)


def _counting(
    instances: Instances,
    subjects: Iterable[NamespacedName],
    constraint: SpreadConstraint,
    node_affinity: Json | None,
) -> frozenset[str]:
    """The nodes whose domains count: those that a subject's pod and the rule itself allow."""
    nodes = _usable(instances, subjects, constraint)
    terms = at(node_affinity, _REQUIRED, "nodeSelectorTerms")
    if terms is None or not constraint.honor_affinity:
        return nodes
    return nodes & instances.domains.matching(NodeMatcher.of(item) for item in terms)


def _usable(
    instances: Instances, vms: Iterable[NamespacedName], constraint: SpreadConstraint
) -> frozenset[str]:
    """The nodes that count for the launcher pods of at least one of these VMs.

    A domain without such a node is none, as in the scheduler's filter (kube-scheduler,
    plugins/podtopologyspread/common.go, matchNodeInclusionPolicies).
    """
    vmis = (instances[vm].vmi for vm in sorted(vms))
    pods = frozenset(_inclusion(vmi.get("spec") or {}) for vmi in vmis if vmi is not None)
    affinity, taints = constraint.honor_affinity, constraint.honor_taints
    if not pods:
        return instances.domains.names

    def counts(node: Node) -> bool:
        return any(
            (not affinity or allows(dict(selector), terms, node))
            and (not taints or not untolerated(tolerations, node))
            for selector, terms, tolerations in pods
        )

    return instances.domains.chosen((pods, affinity, taints), counts)


_Inclusion = tuple[
    tuple[tuple[str, str], ...], tuple[NodeMatcher, ...] | None, tuple[Toleration, ...]
]


def _inclusion(spec: Json) -> _Inclusion:
    """What decides about the nodes of a VMI's launcher pod: nodeSelector, affinity, tolerations."""
    selector = {SCHEDULABLE: "true", **(spec.get("nodeSelector") or {})}
    affinity = Affinity.of(spec, namespace="", labels={})
    tolerations = tuple(map(Toleration.of, spec.get("tolerations") or ()))
    return tuple(sorted(selector.items())), affinity.required_nodes, tolerations
