"""The parts of a problem that planning never changes, indexed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.constraints.moves.copies import Copies, Copy, memory_of
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.under_way import (
    HeldSlot,
    holding_slots,
    lingering,
    queue_ends,
    under_way,
    unfinished,
)
from gitbot.constraints.rules.worsening import rules_by_vm, signature
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.diagnosis import Check
from gitbot.model.plan.plan import NodeRef, VmRef
from gitbot.model.plan.problem import PlacementProblem, Target
from gitbot.planner.load_aware import LoadAware
from gitbot.planner.search.budget import SearchBudget

Held = Mapping[NamespacedName, Mapping[str, int]]
"""By VM: resource and amount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemIndex:
    """Indexes over one problem. Nodes by name, VMIs by name, rules in the order of their refs."""

    problem: PlacementProblem
    nodes: Mapping[str, KubernetesObject]
    vmis: Mapping[NamespacedName, KubernetesObject]
    homes: Mapping[NamespacedName, str]  # the nodes where VMs run at the snapshot
    rules: tuple[RuleConstraint, ...]
    twins: Mapping[str, tuple[str, ...]]  # nodes that share their hostname label with others
    moving: Mapping[NamespacedName, tuple[str, str]]
    slots_held: tuple[HeldSlot, ...]  # of those that count against limits
    queue_ends: Mapping[NamespacedName, int]
    lingering: Mapping[NamespacedName, frozenset[str]]
    migrations: Mapping[NamespacedName, tuple[KubernetesObject, ...]]
    copies: Copies
    load_aware: LoadAware
    checked: dict[NamespacedName, tuple[Check, ...]] = field(default_factory=dict)
    """KubeVirt's checks of each VM that was asked about, wherever it is sent."""
    ruled: dict[NamespacedName, tuple[RuleConstraint, ...]] = field(default_factory=dict)
    """The rules over each VM that was asked about."""
    sorted_by: dict[int, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """By the id of a rule and node: the nodes that the rule treats as this one."""
    memories: dict[NamespacedName, int] = field(default_factory=dict)
    """The guest memory of each VM that was asked about."""
    held: dict[str, tuple[tuple[NamespacedName, ...], Held]] = field(default_factory=dict)
    """What the VMs on a node hold, with the names of the pods for which that is true."""
    unordered: set[tuple[str, NamespacedName]] = field(default_factory=set)
    """The moves that found no order in an earlier round, or that raised: request id and VM."""
    searched: dict[object, Any] = field(default_factory=dict)
    """What exact searches found, by what they were asked."""
    budget: SearchBudget = field(default_factory=lambda: SearchBudget.of(0))

    @classmethod
    def of(cls, problem: PlacementProblem) -> ProblemIndex:
        snapshot = problem.snapshot
        rules = tuple(sorted(problem.rules, key=lambda rule: (rule.ref, not rule.required)))
        instances = Instances.of(snapshot)
        nodes = {name_of(node).name: node for node in snapshot.of("Node")}
        copies = Copies(problem)
        return cls(
            problem=replace(problem, rules=rules),
            nodes=nodes,
            vmis=instances.vmis,
            homes=instances.homes,
            rules=rules,
            twins=_twins(nodes),
            moving=under_way(instances),
            slots_held=holding_slots(instances, copies, problem.now),
            queue_ends=queue_ends(instances, copies, problem.now, problem.limits.parallel),
            lingering=lingering(instances),
            migrations=unfinished(instances),
            copies=copies,
            load_aware=LoadAware(problem),
        )

    def rules_over(self, vm: NamespacedName) -> tuple[RuleConstraint, ...]:
        known = self.ruled.get(vm)
        if known is None:
            numbers = rules_by_vm(self.rules).get(vm, ())
            known = self.ruled[vm] = tuple(self.rules[number] for number in numbers)
        return known

    def cost_of_rules(self, vm: NamespacedName) -> int:
        """What it costs of the budget to look at who keeps a VM off a node: it looks at members."""
        return 8 + sum(len(rule.members) for rule in self.rules_over(vm)) // 4

    def alike(self, rule: RuleConstraint, node: str) -> frozenset[str]:
        """The nodes that a rule treats as this one."""
        known = self.sorted_by.get(id(rule))
        if known is None:
            alike = grouped((signature(rule, name), name) for name in self.nodes).values()
            known = {name: names for names in map(frozenset, alike) for name in names}
            self.sorted_by[id(rule)] = known
        return known.get(node, frozenset())

    def migrations_of(self, vm: NamespacedName) -> tuple[KubernetesObject, ...]:
        return self.migrations.get(vm, ())

    def stays(self, vm: NamespacedName, node: str) -> bool:
        """Whether a VM that we cannot move will stay on the node; False if somebody moves it."""
        return vm not in self.moving or self.moving[vm][1] in ("", node)

    def zone(self, node: str) -> str:
        return self.label(node, self.problem.zone_key)

    def label(self, node: str, key: str) -> str:
        return labels_of(self.nodes.get(node, {})).get(key, "")

    def node_ref(self, node: str) -> NodeRef:
        return NodeRef(node=node, zone=self.zone(node))

    def vm_ref(self, vm: NamespacedName) -> VmRef:
        """A VMI with its UID, "" if the VMI does not exist."""
        return VmRef(namespace=vm.namespace, name=vm.name, uid=uid_of(self.vmis.get(vm, {})))

    def node_selector(self, vm: NamespacedName) -> Mapping[str, str]:
        selector: Mapping[str, str] = at(self.vmis.get(vm, {}), "spec", "nodeSelector", default={})
        return selector

    def matching(self, target: Target) -> frozenset[str]:
        names = self.nodes.keys() & target.nodes if target.nodes else self.nodes
        wanted = target.node_selector.items()
        if not wanted:
            return frozenset(names)
        return frozenset(name for name in names if wanted <= labels_of(self.nodes[name]).items())

    def memory(self, vm: NamespacedName) -> int:
        known = self.memories.get(vm)
        if known is None:
            known = self.memories[vm] = memory_of(self.vmis.get(vm, {}))
        return known

    def copy(self, vm: NamespacedName) -> Copy:
        """How its memory is assumed to be copied, and how long that takes."""
        return self.copies.of(vm, self.vmis.get(vm, {}))


def _twins(nodes: Mapping[str, KubernetesObject]) -> Mapping[str, tuple[str, ...]]:
    named = grouped((labels_of(nodes[name]).get(HOSTNAME, ""), name) for name in sorted(nodes))
    return {
        name: tuple(other for other in names if other != name)
        for host, names in named.items()
        if host and len(names) > 1
        for name in names
    }
