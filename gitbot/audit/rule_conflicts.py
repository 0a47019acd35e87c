"""Rules that cannot all hold: the smallest sets that no placement of the VMs can keep.

Terms about nodes in VMs' own specs count as rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from gitbot.audit.finding import AuditFinding, of_finding
from gitbot.constraints.audit_placement import PlacedPod
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.contradiction import SearchEffort, smallest_sets
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import NodePart
from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Occupancy, RuleConstraint
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import VM_TERMS, IntentRef
from gitbot.model.text.wording import first_of

_MOST_DEMANDS = 1_000  # of VMs about nodes; equal ones share one set
_MOST_SETS = 4  # for one broken rule


def conflicting(
    snapshot: ClusterSnapshot, rules: Sequence[RuleConstraint], pods: Iterable[PlacedPod]
) -> Iterator[AuditFinding]:
    """One finding for each smallest set, and for each rule about which a search gave up."""
    undecided: list[RuleConstraint] = []
    yield from map(conflict_finding, contradictions(snapshot, rules, lambda: pods, undecided))
    yield from map(undecided_finding, undecided)


def contradictions(
    snapshot: ClusterSnapshot,
    rules: Sequence[RuleConstraint],
    pods: Callable[[], Iterable[PlacedPod]],
    undecided: list[RuleConstraint],
) -> Iterator[Sequence[RuleConstraint]]:
    """The smallest sets. Rules that all hold now cannot be in conflict: then no `pods` are made.

    `undecided` takes the broken rules about which the search gave up, when the last set was taken.

    A maximum alone is left out: compiling it reports `intents/too-few-domains`.
    """
    instances = Instances.of(snapshot)
    occupancy: Occupancy = {vm: frozenset({node}) for vm, node in instances.homes.items()}
    required = [rule for rule in rules if rule.required]
    broken = [rule for rule in required if rule.breaches(occupancy)]
    if not broken:
        return
    required += own_rules(snapshot)
    concerned = frozenset().union(*(rule.members for rule in broken))
    hard = [*required, *_node_rules(instances, (pod for pod in pods() if pod.vm in concerned))]
    about, able = _by_member(hard, concerned), _for_vms(instances)
    told: set[frozenset[IntentRef]] = set()
    for rule in broken:
        numbers = set().union(*(about.get(vm, ()) for vm in rule.members))
        together = [hard[number] for number in sorted(numbers)]
        effort = SearchEffort()
        for found in smallest_sets(instances.homes, able, together, effort):
            refs = frozenset(item.ref for item in found)
            if refs not in told and (len(refs) > 1 or found[0].maximum is None):
                told.add(refs)
                yield found
        if effort.cut:
            undecided.append(rule)


def _by_member(
    rules: Sequence[RuleConstraint], concerned: frozenset[NamespacedName]
) -> dict[NamespacedName, tuple[int, ...]]:
    """The indexes of rules by their concerned VMs."""
    return grouped(
        (vm, number)
        for number, rule in enumerate(rules)
        for vm in concerned.intersection(rule.members)
    )


def _node_rules(instances: Instances, pods: Iterable[PlacedPod]) -> Iterator[PlacementRule]:
    """Terms about nodes in VMs' own specs, as rules."""
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


def conflict_finding(rules: Sequence[RuleConstraint]) -> AuditFinding:
    """A set of rules that cannot all hold, at the place of the first intent."""
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


def undecided_finding(rule: RuleConstraint) -> AuditFinding:
    """A broken rule about which the search gave up."""
    ref = rule.ref
    return of_finding(
        Finding(
            code="audit/undecided",
            severity=Severity.NOTE,
            message=f"the search for rules that cannot hold beside {_words(ref)} was cut: it has "
            "more VMs or placements than gitbot tries, so there may be some that are not named",
            file=ref.file,
            line=ref.line,
            key_path=ref.id,
            hint="`gitbot plan` shows what heals it, or why nothing does",
        ),
        ref,
    )


def _words(ref: IntentRef) -> str:
    if ref.of_vm:
        return f"what vm {ref.namespace}/{ref.name} asks in its own spec"
    return f"{ref.id} ({ref.where})"
