"""Terms in VMs' own specs that do not hold where the VMs run, as rules to heal.

These are required terms about nodes, and required anti-affinity. The scheduler's filters keep them
at each move, so the rules bind only the plans that heal them.
"""

from __future__ import annotations

from gitbot.constraints.audit_placement import PlacedPod, misplaced, placed_pods
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import AntiAffinityPart, NodePart, RulePart
from gitbot.constraints.rules.vm_spec_rules import OwnTerms
from gitbot.constraints.scheduler.filters.node_affinity import allows
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.model.caches import LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduling import Affinity, AffinityTerm
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Occupancy
from gitbot.model.text.names import VM_PLACES, IntentRef

_Nodes = tuple[tuple[tuple[str, str], ...], tuple[NodeMatcher, ...] | None]
_Asked = tuple[_Nodes, tuple[AffinityTerm, ...]]


def broken_terms(snapshot: ClusterSnapshot) -> tuple[PlacementRule, ...]:
    """One rule for all such VMs of a namespace with the same terms, sorted by ref.

    Terms that only the launcher pod has, from KubeVirt or an admission policy, are not the VM's
    own. Repeated calls for one snapshot return the same rules.
    """
    return _last(snapshot)


def _broken_terms(snapshot: ClusterSnapshot) -> tuple[PlacementRule, ...]:
    instances = Instances.of(snapshot)
    pods = (placed for placed in placed_pods(snapshot) if placed.vm is not None)
    found = {item.placed.vm: item.placed for item in misplaced(snapshot, pods, wishes=False)}
    asked = ((_asked(instances[vm], pod), vm) for vm, pod in found.items() if vm is not None)
    classes = grouped(((vm.namespace, terms), vm) for terms, vm in asked)
    own = OwnTerms(instances, World.of(snapshot))
    rules = [_rule(instances, own, terms, vms) for (_, terms), vms in classes.items()]
    occupancy: Occupancy = instances.occupancy()
    return tuple(
        sorted((rule for rule in rules if rule.breaches(occupancy)), key=lambda rule: rule.ref)
    )


_last = LastValueCache[ClusterSnapshot, tuple[PlacementRule, ...]](
    lambda snapshot, _: _broken_terms(snapshot)
)


def _asked(item: Instance, placed: PlacedPod) -> _Asked:
    spec: Json = (item.vmi or {}).get("spec") or {}
    own = Affinity.of(spec, namespace=item.name.namespace, labels=placed.pod.labels)
    selector = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    return (selector, own.required_nodes), own.required_anti


def _rule(
    instances: Instances,
    own: OwnTerms,
    asked: _Asked,
    vms: tuple[NamespacedName, ...],
) -> PlacementRule:
    nodes, foes = asked
    selector, terms = nodes
    domains = instances.domains
    allowed = domains.chosen(nodes, lambda node: allows(dict(selector), terms, node))
    parts: list[RulePart] = [
        NodePart(
            name="node-affinity",
            subjects=frozenset(vms),
            nodes=allowed,
            wanted="the nodes that its own spec asks for",
        )
    ]
    if foes:
        peers = tuple(own.matching(term) for term in foes)
        apart = dict.fromkeys(vms, peers)
        parts.append(AntiAffinityPart(name="anti-affinity", domains=domains, terms=apart))
    return PlacementRule(
        ref=IntentRef(kind=VM_PLACES, namespace=vms[0].namespace, name=vms[0].name),
        parts=tuple(parts),
        members=frozenset().union(*(part.members for part in parts)),
    )
