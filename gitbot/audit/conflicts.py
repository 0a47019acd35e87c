"""Rules that cannot all hold: the smallest set of which no placement of the VMs keeps every rule.

A search over all placements of the running members, on nodes that differ to the rules. Room, taints
and migrations are left out: what is found here no free node and no order of moves can mend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from gitbot.audit.value import AuditFinding
from gitbot.constraints.instances import Instances
from gitbot.constraints.own_terms import own_rules
from gitbot.constraints.placed import PlacedPod
from gitbot.constraints.placement_rule import PlacementRule
from gitbot.constraints.rule_check import monotone, signature
from gitbot.constraints.rule_parts import NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.constraint import Occupancy, RuleConstraint
from gitbot.model.findings import Finding, Severity
from gitbot.model.grouping import grouped
from gitbot.model.names import VM_TERMS, IntentRef
from gitbot.model.words import first_of

_MOST_STATES = 5_000  # beyond it nothing is claimed
_MOST_MEMBERS = 64
_SAMPLE = 100  # nodes, about
_MOST_DEMANDS = 1_000  # of VMs on nodes; those that ask for the same share one set
_MOST_SETS = 4  # of one broken rule


def conflicting(
    snapshot: ClusterSnapshot, rules: Sequence[RuleConstraint], pods: Iterable[PlacedPod]
) -> Iterator[AuditFinding]:
    """One finding for each smallest set. Rules that all hold now cannot be in conflict.

    A ZoneAntiAffinity alone is left out: compiling it says `intents/too-few-domains`.
    """
    instances = Instances.of(snapshot)
    occupancy: Occupancy = {vm: frozenset({node}) for vm, node in instances.homes.items()}
    required = [rule for rule in rules if rule.required]
    broken = [rule for rule in required if rule.breaches(occupancy)]
    if not broken:
        return
    required += own_rules(snapshot)
    concerned = frozenset().union(*(rule.members for rule in broken))
    hard = [*required, *_node_rules(instances, (pod for pod in pods if pod.vm in concerned))]
    about, able = _by_member(hard, concerned), _for_vms(instances)
    told: set[frozenset[IntentRef]] = set()
    for rule in broken:
        numbers = set().union(*(about.get(vm, ()) for vm in rule.members))
        together = [hard[number] for number in sorted(numbers)]
        for found in _each_smallest(instances, able, together):
            refs = frozenset(item.ref for item in found)
            if refs not in told and [ref.kind for ref in refs] != ["ZoneAntiAffinity"]:
                told.add(refs)
                yield _finding(found)


def _by_member(
    rules: Sequence[RuleConstraint], concerned: frozenset[NamespacedName]
) -> dict[NamespacedName, tuple[int, ...]]:
    """The places of rules in their list, by the concerned VMs that they are about."""
    return grouped(
        (vm, number)
        for number, rule in enumerate(rules)
        for vm in concerned.intersection(rule.members)
    )


def _node_rules(instances: Instances, pods: Iterable[PlacedPod]) -> Iterator[PlacementRule]:
    """What VMs say about nodes in their own specs."""
    domains = instances.domains

    @lru_cache
    def having(key: str) -> dict[str, frozenset[str]]:
        nodes = grouped((value, node) for node, value in domains.column(key).items())
        return {value: frozenset(names) for value, names in nodes.items()}

    @lru_cache(_MOST_DEMANDS)
    def allowed(
        selector: tuple[tuple[str, str], ...], terms: tuple[NodeMatcher, ...] | None
    ) -> frozenset[str]:
        nodes = domains.names
        for key, value in selector:
            nodes &= having(key).get(value, frozenset())
        return nodes if terms is None else nodes & domains.matching(terms)

    for placed in pods:
        pod = placed.pod
        if placed.vm is None or not (pod.node_selector or pod.affinity.required_nodes is not None):
            continue
        nodes = allowed(tuple(pod.node_selector.items()), pod.affinity.required_nodes)
        vm = placed.vm
        part = NodePart(name="node", subjects=frozenset({vm}), nodes=nodes, wanted="its nodes")
        ref = IntentRef(kind=VM_TERMS, namespace=vm.namespace, name=vm.name)
        yield PlacementRule(ref=ref, parts=(part,), members=frozenset({vm}))


def _for_vms(instances: Instances) -> tuple[str, ...]:
    nodes = instances.domains.nodes
    able = {name for name, node in nodes.items() if SCHEDULABLE in node.labels}
    return tuple(sorted(able or nodes))


def _each_smallest(
    instances: Instances, able: Sequence[str], rules: list[RuleConstraint]
) -> Iterator[list[RuleConstraint]]:
    """Smallest sets one after the other: each time without one rule of the last."""
    some = able[:: max(1, len(able) // _SAMPLE)]
    if not _impossible(instances, rules, _alike(instances, some, rules)):
        return  # a placement on some nodes is one on all
    nodes = _alike(instances, able, rules)
    for _ in range(_MOST_SETS):
        found = _smallest(instances, rules, nodes)
        if not found:
            return
        yield found
        rules = [rule for rule in rules if rule is not found[0]]


def _alike(
    instances: Instances, able: Sequence[str], rules: Sequence[RuleConstraint]
) -> tuple[str, ...]:
    """One node of each kind that the rules tell apart, of those and where their VMs run."""
    homes = instances.homes
    here = {homes[vm] for rule in rules for vm in rule.members if vm in homes}
    kinds: dict[object, str] = {}
    for node in sorted(here.union(able)):
        kinds.setdefault(tuple(signature(rule, node) for rule in rules), node)
    return tuple(kinds.values())


def _smallest(
    instances: Instances, rules: list[RuleConstraint], nodes: Sequence[str]
) -> list[RuleConstraint]:
    """Rules that cannot all hold, none of which can be left out; empty if that is not proven."""
    if not _impossible(instances, rules, nodes):
        return []
    for rule in list(rules):
        rest = [other for other in rules if other is not rule]
        if _impossible(instances, rest, nodes):
            rules = rest
    return rules


def _impossible(
    instances: Instances, rules: Sequence[RuleConstraint], nodes: Sequence[str]
) -> bool:
    """Whether no placement keeps all rules. False if the search ends before it knows."""
    homes = instances.homes
    members = frozenset[NamespacedName]().union(*(rule.members for rule in rules))
    vms = sorted(vm for vm in members if vm in homes)
    if not vms or len(vms) > _MOST_MEMBERS:
        return False
    return _PlacementSearch(rules, vms, nodes, homes).is_hopeless


class _PlacementSearch:
    """Depth first, the VMs first that some rule keeps on some nodes, each first where it is."""

    def __init__(
        self,
        rules: Sequence[RuleConstraint],
        vms: Sequence[NamespacedName],
        nodes: Sequence[str],
        homes: Mapping[NamespacedName, str],
    ) -> None:
        self._over = {vm: [rule for rule in rules if vm in rule.members] for vm in vms}
        self._final = [rule for rule in rules if not monotone(rule)]
        self._left = _MOST_STATES
        narrow = {vm for vm in vms if any(map(_about_nodes, self._over[vm]))}
        self._order = sorted(vms, key=lambda vm: (vm not in narrow, vm))
        self._nodes, self._homes = nodes, homes

    @property
    def is_hopeless(self) -> bool:
        found = self._place({}, 0)
        return not found and self._left > 0

    def _place(self, places: dict[NamespacedName, frozenset[str]], depth: int) -> bool:
        """Whether the rest finds places; False as well if the states are used up."""
        if depth == len(self._order):
            return not any(rule.breaches(places) for rule in self._final)
        vm = self._order[depth]
        for node in (self._homes[vm], *self._nodes):
            if self._left <= 0:
                return False
            self._left -= 1
            there = {**places, vm: frozenset({node})}
            if self._keeps(places, vm, node) and self._place(there, depth + 1):
                return True
        return False

    def _keeps(self, places: Occupancy, vm: NamespacedName, node: str) -> bool:
        """Rules that more VMs cannot mend hold with the VM there."""
        there = {**places, vm: frozenset({node})}
        return not any(monotone(rule) and rule.breaches(there) for rule in self._over[vm])


def _about_nodes(rule: RuleConstraint) -> bool:
    parts = rule.parts if isinstance(rule, PlacementRule) else ()
    return any(isinstance(part, NodePart) for part in parts)


def _finding(rules: Sequence[RuleConstraint]) -> AuditFinding:
    ordered = sorted(rules, key=lambda rule: (rule.ref.of_vm, rule.ref))
    first = ordered[0].ref
    vms = sorted(frozenset.intersection(*(rule.members for rule in rules)))
    listed = [_words(rule.ref) for rule in ordered]
    code, message = "audit/never-holds", f"no placement of its VMs keeps {listed[0]}"
    hint = "select fewer VMs, ask for less, or label more nodes"
    if len(ordered) > 1:
        about = f" for {first_of([vm.name for vm in vms], 3)}" if vms else ""
        code = "audit/contradiction"
        message = f"these cannot all hold{about}: {'; '.join(listed)}"
        hint = "take one of them away, or loosen it: any one less is enough"
    return AuditFinding(
        finding=Finding(
            code=code,
            severity=Severity.ERROR,
            message=message,
            file=first.file,
            line=first.line,
            key_path=first.id,
            hint=hint,
        ),
        kind=first.kind,
        name=NamespacedName(namespace=first.namespace, name=first.name),
        rule=first.id,
        vms=tuple(vms),
    )


def _words(ref: IntentRef) -> str:
    if ref.of_vm:
        return f"what vm {ref.namespace}/{ref.name} asks in its own spec"
    return f"{ref.id} ({ref.where})"
