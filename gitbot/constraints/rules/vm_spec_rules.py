"""Terms that running VMs require of each other in their own specs, as rules.

kube-scheduler reads these terms when it places a pod, and never again. It keeps anti-affinity in
both directions at every placement. But nothing keeps two others when a VM leaves: required pod
affinity of the VMs that stay, and topology spread with DoNotSchedule. They become rules here, so
that planner, replay and verification treat them like the rules of intents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.moves.target_pod import start_object
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import AffinityPart, Peers, RulePart, SpreadPart
from gitbot.constraints.scheduler.filters.topology_spread import included, labelled
from gitbot.constraints.scheduler.label_index import LabelIndex
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at, labels_of, name_of
from gitbot.model.caches import LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import (
    Affinity,
    AffinityTerm,
    SpreadConstraint,
    reads_labels,
)
from gitbot.model.grouping import grouped
from gitbot.model.text.decoding import decoding
from gitbot.model.text.names import VM_TERMS, IntentRef

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_Spread = tuple[SpreadConstraint, frozenset[str]]  # with the nodes whose domains count
_Class = tuple[str, tuple[AffinityTerm, ...], tuple[_Spread, ...]]


def own_rules(snapshot: ClusterSnapshot) -> tuple[PlacementRule, ...]:
    """One required rule for all VMs of a namespace with the same terms, sorted by ref.

    Selectors read the labels of launcher pods, as the scheduler does. Anti-affinity is left out,
    because the filters keep it. Repeated calls for one snapshot return the same rules.
    """
    return _last(snapshot)


def _own_rules(snapshot: ClusterSnapshot) -> tuple[PlacementRule, ...]:
    instances = Instances.of(snapshot)
    asking = [item for item in instances.values() if item.node and _asks(item)]
    if not asking:
        return ()
    maker = OwnTerms(instances, World.of(snapshot))
    classes = grouped((maker.class_of(item), item.name) for item in asking)
    rules = [maker.rule(wanted, vms) for wanted, vms in classes.items()]
    return tuple(sorted((rule for rule in rules if rule.parts), key=lambda rule: rule.ref))


_last = LastValueCache[ClusterSnapshot, tuple[PlacementRule, ...]](
    lambda snapshot, _: _own_rules(snapshot)
)


def _asks(item: Instance) -> bool:
    spec: Json = (item.vmi or {}).get("spec") or {}
    near = at(spec, "affinity", "podAffinity", _REQUIRED, default=())
    spread = spec.get("topologySpreadConstraints") or ()
    return bool(near) or any(one.get("whenUnsatisfiable") != "ScheduleAnyway" for one in spread)


def terms_in_doubt(instances: Instances) -> Iterator[NamespacedName]:
    """The VMs whose required terms select namespaces by labels that the snapshot lacks."""
    for name, item in instances.items() if instances.without_namespaces else ():
        vmi = item.vmi or {}
        with decoding("VirtualMachineInstance", vmi):
            spec: Json = vmi.get("spec") or {}
            found = Affinity.of(spec, namespace=name.namespace, labels=item.labels)
        terms = (*found.required_pods, *found.required_anti)
        if any(reads_labels(term.namespace_selector) for term in terms):
            yield name


class OwnTerms:
    """The terms of running VMs, with what each matches by the labels of launcher pods."""

    def __init__(self, instances: Instances, world: World) -> None:
        self._instances, self._world = instances, world
        self._labels: dict[NamespacedName, Mapping[str, str]] = {
            name: item.labels if item.source_pod is None else labels_of(item.source_pod)
            for name, item in instances.items()
            if item.node
        }
        self._by_label = LabelIndex(
            (name.namespace, labels, name) for name, labels in self._labels.items()
        )
        self._peers: dict[AffinityTerm, Peers] = {}
        self._counting: dict[object, tuple[_Spread, ...]] = {}
        self._nodes: dict[bytes, frozenset[str]] = {}  # by mask: most pods allow the same nodes

    def class_of(self, item: Instance) -> _Class:
        """A VM's requirements: its VMI's terms, and the nodes that its pod's selectors allow."""
        vmi = item.vmi or {}
        labels, namespace = self._labels[item.name], item.name.namespace
        with decoding("VirtualMachineInstance", vmi):
            spec: Json = vmi.get("spec") or {}
            near = Affinity.of(spec, namespace=namespace, labels=labels).required_pods
            every = [
                SpreadConstraint.of(one, labels)
                for one in spec.get("topologySpreadConstraints") or ()
            ]
        hard = tuple(one for one in every if one.hard and one.selector.matches(labels))
        return namespace, near, self._with_nodes(item, hard) if hard else ()

    def rule(self, wanted: _Class, vms: tuple[NamespacedName, ...]) -> PlacementRule:
        namespace, near, spread = wanted
        parts: list[RulePart] = [self._near(near, vms)] if near else []
        parts += [self._spread(number, namespace, one) for number, one in enumerate(spread)]
        ref = IntentRef(kind=VM_TERMS, namespace=namespace, name=vms[0].name)
        members = frozenset(vms).union(*(part.members for part in parts))
        return PlacementRule(ref=ref, parts=tuple(parts), members=members)

    def _with_nodes(
        self, item: Instance, constraints: tuple[SpreadConstraint, ...]
    ) -> tuple[_Spread, ...]:
        source = item.source_pod
        pod = None if source is None else self._world.pod(name_of(source))
        if pod is None:
            pod = Pod.from_object(source or start_object(self._instances, item))
        selector = frozenset(pod.node_selector.items())
        key = (selector, pod.affinity.required_nodes, pod.tolerations, constraints)
        if key not in self._counting:
            state = self._world.state
            complete = labelled(state, constraints)
            self._counting[key] = tuple(
                (one, self._names(complete & included(state, pod, one))) for one in constraints
            )
        return self._counting[key]

    def _names(self, mask: Mask) -> frozenset[str]:
        key = mask.tobytes()
        if key not in self._nodes:
            names = self._world.state.columns.names
            self._nodes[key] = frozenset(names[number] for number in np.flatnonzero(mask))
        return self._nodes[key]

    def _near(
        self, terms: tuple[AffinityTerm, ...], vms: tuple[NamespacedName, ...]
    ) -> AffinityPart:
        """Companions must match every term, as in the scheduler's filter."""
        found = [self.matching(term) for term in terms]
        company = tuple(
            Peers(
                topology_key=each.topology_key,
                vms=frozenset.intersection(*(peers.vms for peers in found)),
                fixed=frozenset.intersection(*(peers.fixed for peers in found)),
            )
            for each in found
        )
        return AffinityPart(
            name="affinity",
            domains=self._instances.domains,
            terms=dict.fromkeys(vms, company),
            first=frozenset(vms) & company[0].vms,
        )

    def matching(self, term: AffinityTerm) -> Peers:
        if term not in self._peers:
            spaces, standing = self._instances.reached(term), self._instances.standing_by_label
            self._peers[term] = Peers(
                topology_key=term.topology_key,
                vms=frozenset(self._by_label.matching(term.selector, spaces)),
                fixed=frozenset(standing.matching(term.selector, spaces)),
            )
        return self._peers[term]

    def _spread(self, number: int, namespace: str, wanted: _Spread) -> SpreadPart:
        constraint, nodes = wanted
        selector, spaces = constraint.selector, (namespace,)
        standing = self._instances.standing_by_label.matching(selector, spaces)
        return SpreadPart(
            name=f"spread[{number}]",
            domains=self._instances.domains,
            constraint=constraint,
            counted=frozenset(self._by_label.matching(selector, spaces)),
            nodes=nodes,
            fixed=tuple(sorted(node for node in standing if node in nodes)),
        )
