"""What of a problem never changes while planning, indexed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.model.constraint import RuleConstraint
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.model.plan import NodeRef, VmRef
from gitbot.model.problem import PlacementProblem, Target
from gitbot.model.quantities import whole
from gitbot.model.scheduling import HOSTNAME
from gitbot.planner.foreign import under_way, unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Indexes over one problem. Nodes by name, VMIs by name, rules in the order of their refs."""

    problem: PlacementProblem
    nodes: Mapping[str, KubernetesObject]
    vmis: Mapping[NamespacedName, KubernetesObject]
    rules: tuple[RuleConstraint, ...]
    rules_by_vm: Mapping[NamespacedName, tuple[RuleConstraint, ...]]
    twins: Mapping[str, tuple[str, ...]]  # nodes that share their hostname label with others
    moving: Mapping[NamespacedName, tuple[str, str]]
    migrations: Mapping[NamespacedName, tuple[KubernetesObject, ...]]

    @classmethod
    def of(cls, problem: PlacementProblem) -> Facts:
        """Index a problem; its rules come in the order of their refs, however they were given."""
        snapshot = problem.snapshot
        rules = tuple(sorted(problem.rules, key=lambda rule: (rule.ref, not rule.required)))
        nodes = {name_of(node).name: node for node in snapshot.of("Node")}
        return cls(
            problem=replace(problem, rules=rules),
            nodes=nodes,
            vmis={name_of(vmi): vmi for vmi in snapshot.of("VirtualMachineInstance")},
            rules=rules,
            rules_by_vm=_by_member(rules),
            twins=_twins(nodes),
            moving=under_way(snapshot),
            migrations=unfinished(snapshot),
        )

    def rules_over(self, vm: NamespacedName) -> tuple[RuleConstraint, ...]:
        """The rules whose breaches may change when this VM moves, in the order of their refs."""
        return self.rules_by_vm.get(vm, ())

    def migrations_of(self, vm: NamespacedName) -> tuple[KubernetesObject, ...]:
        """The unfinished VMIMs of a VMI."""
        return self.migrations.get(vm, ())

    def zone(self, node: str) -> str:
        """The zone of a node, "" where it has none."""
        return self.label(node, self.problem.zone_key)

    def label(self, node: str, key: str) -> str:
        """The value of a node's label, "" where it has none."""
        return labels_of(self.nodes.get(node, {})).get(key, "")

    def node_ref(self, node: str) -> NodeRef:
        """A node with its zone."""
        return NodeRef(node=node, zone=self.zone(node))

    def vm_ref(self, vm: NamespacedName) -> VmRef:
        """A VMI with its UID, "" where there is no such VMI."""
        return VmRef(namespace=vm.namespace, name=vm.name, uid=uid_of(self.vmis.get(vm, {})))

    def node_selector(self, vm: NamespacedName) -> Mapping[str, str]:
        """The VM's own nodeSelector."""
        selector: Mapping[str, str] = at(self.vmis.get(vm, {}), "spec", "nodeSelector", default={})
        return selector

    def matching(self, target: Target) -> frozenset[str]:
        """The nodes that a target means."""
        return frozenset(
            name
            for name, node in self.nodes.items()
            if (not target.nodes or name in target.nodes)
            and all(
                labels_of(node).get(key) == value for key, value in target.node_selector.items()
            )
        )

    def memory(self, vm: NamespacedName) -> int:
        """Bytes of guest memory: what is plugged now, else what the spec says, else the request."""
        vmi = self.vmis.get(vm, {})
        for path in _MEMORY:
            found = at(vmi, *path)
            if found is not None:
                return whole(found)
        return 0


def _twins(nodes: Mapping[str, KubernetesObject]) -> Mapping[str, tuple[str, ...]]:
    named: dict[str, list[str]] = {}
    for name in sorted(nodes):
        named.setdefault(labels_of(nodes[name]).get(HOSTNAME, ""), []).append(name)
    return {
        name: tuple(other for other in names if other != name)
        for host, names in named.items()
        if host and len(names) > 1
        for name in names
    }


def _by_member(
    rules: tuple[RuleConstraint, ...],
) -> Mapping[NamespacedName, tuple[RuleConstraint, ...]]:
    found: dict[NamespacedName, list[RuleConstraint]] = {}
    for rule in rules:
        for vm in rule.members:
            found.setdefault(vm, []).append(rule)
    return {vm: tuple(listed) for vm, listed in found.items()}


_MEMORY = (
    ("status", "memory", "guestCurrent"),
    ("spec", "domain", "memory", "guest"),
    ("spec", "domain", "resources", "requests", "memory"),
    ("spec", "domain", "resources", "limits", "memory"),
)
