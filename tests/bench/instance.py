"""A cluster and what is asked of it as plain columns, for peers, and as a problem for gitbot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import AffinityPart, Peers
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.columns import Numbers
from gitbot.model.ledger.request_id import HealId, RequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, HealRule, PlacementProblem, Request
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects
from tests.doubles.problems import HOSTNAME, ZONE, node, vm

NOW = 1_764_547_200
GIB = 1024
Groups = tuple[tuple[int, ...], ...]
Move = tuple[int, int]
"""A VM and the node that it goes to, by their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """Nodes and VMs by number. cpu in milli, memory in MiB, `zone` and `host` as numbers.

    VMs of a group are on nodes of their own (`apart_hosts`), in zones of their own (`apart_zones`)
    or in one zone (`together`). The nodes in `drained` are emptied; without any, all groups of
    `apart_zones` that are broken are healed.
    """

    cpu: Numbers
    memory: Numbers
    zone: Numbers
    vm_cpu: Numbers
    vm_memory: Numbers
    host: Numbers
    apart_hosts: Groups = ()
    apart_zones: Groups = ()
    together: Groups = ()
    drained: tuple[int, ...] = ()

    @property
    def size(self) -> str:
        rules = len(self.apart_hosts) + len(self.apart_zones) + len(self.together)
        return f"{len(self.cpu):,} nodes, {len(self.host):,} VMs, {rules:,} rules"

    @property
    def displaced(self) -> Numbers:
        """The VMs on nodes that are emptied."""
        return np.flatnonzero(np.isin(self.host, self.drained))

    @property
    def broken(self) -> tuple[int, ...]:
        """The groups of `apart_zones` that share a zone."""
        return tuple(
            number
            for number, group in enumerate(self.apart_zones)
            if len(set(self.zone[self.host[list(group)]].tolist())) < len(group)
        )

    def used(self, columns: Numbers) -> Numbers:
        """What the VMs use on each node."""
        return np.bincount(self.host, weights=columns, minlength=len(self.cpu)).astype(np.int64)


def problem(case: Instance) -> PlacementProblem:
    """The instance as gitbot reads it: objects, rules, and a goal."""
    snapshot = from_objects("bench", list(_objects(case)), NOW)
    rules = tuple(_rules(case, Instances.of(snapshot)))
    return PlacementProblem(
        cluster="bench", now=NOW, snapshot=snapshot, rules=rules, goals=_goals(case)
    )


def _objects(case: Instance) -> Iterator[KubernetesObject]:
    for number, (cpu, memory, zone) in enumerate(
        zip(case.cpu.tolist(), case.memory.tolist(), case.zone.tolist(), strict=True)
    ):
        yield node(node_name(number), zone=f"zone-{zone:03}", cpu=f"{cpu}m", memory=f"{memory}Mi")
    columns = (case.vm_cpu.tolist(), case.vm_memory.tolist(), case.host.tolist())
    for number, (cpu, memory, host) in enumerate(zip(*columns, strict=True)):
        name = vm_name(number)
        yield from vm(
            name.name,
            on=node_name(host),
            namespace=name.namespace,
            cpu=f"{cpu}m",
            memory=f"{memory}Mi",
        )


def node_name(number: int) -> str:
    return f"node-{number:05}"


def vm_name(number: int) -> NamespacedName:
    return NamespacedName(namespace="bench", name=f"vm-{number:06}")


def _rules(case: Instance, instances: Instances) -> Iterator[RuleConstraint]:
    for kind, key, groups in (
        ("host", HOSTNAME, case.apart_hosts),
        ("zone", ZONE, case.apart_zones),
    ):
        for number, group in enumerate(groups):
            yield ZoneAntiAffinity(
                ref=_ref("ZoneAntiAffinity", kind, number),
                members=frozenset(map(vm_name, group)),
                domains=instances.domains,
                topology_key=key,
            )
    for number, group in enumerate(case.together):
        members = frozenset(map(vm_name, group))
        near = AffinityPart(
            name="affinity",
            domains=instances.domains,
            terms=dict.fromkeys(
                members, (Peers(topology_key=ZONE, vms=members, fixed=frozenset()),)
            ),
            first=members,
        )
        yield PlacementRule(
            ref=_ref("PlacementRule", "near", number), parts=(near,), members=members
        )


def _ref(kind: str, name: str, number: int) -> IntentRef:
    return IntentRef(kind=kind, namespace="bench", name=f"{name}-{number:05}")


def _goals(case: Instance) -> tuple[Goal, ...]:
    if case.drained:
        intent = IntentRef(kind="MaintenanceWindow", namespace="", name="maintenance")
        return (
            EmptyNodes(
                request=Request(
                    id=RequestId.read("drain/maintenance/20251201T000000Z"), intent=intent
                ),
                nodes=tuple(map(node_name, case.drained)),
                max_nodes_at_once=len(case.drained),
            ),
        )
    return tuple(
        HealRule(request=Request(id=HealId.of(ref), intent=ref), rule=ref)
        for number in case.broken
        for ref in (_ref("ZoneAntiAffinity", "zone", number),)
    )


def moves_of(plan: PlacementPlan) -> list[list[Move]]:
    """The moves of a plan by wave."""
    waves: list[list[Move]] = [[] for _ in plan.waves]
    for move in plan.moves:
        waves[move.wave].append((_number(move.vm.name), _number(move.to.node)))
    return waves


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the VMs are in the end, and what that took; memory in GiB."""

    host: Numbers
    moves: int
    memory: int
    left: int  # VMs still on nodes that are emptied
    broken: int  # groups of `apart_zones` that are broken

    @classmethod
    def of(cls, case: Instance, waves: Sequence[Sequence[Move]]) -> Outcome:
        """Carry the waves out; AssertionError where a state breaks capacity or adds a breach."""
        checker = Checker(case)
        for wave in waves:
            checker.carry_out(wave)
        moved = [vm for wave in waves for vm, _ in wave]
        after = checker.host
        return cls(
            host=after,
            moves=len(moved),
            memory=int(case.vm_memory[moved].sum()) // GIB,
            left=int(np.isin(after, case.drained).sum()),
            broken=len(moved_to(case, after).broken),
        )


def moved_to(case: Instance, host: Numbers) -> Instance:
    """The same cluster with its VMs elsewhere."""
    fields: dict[str, Any] = {name: getattr(case, name) for name in case.__dataclass_fields__}
    return Instance(**{**fields, "host": host})


class Checker:
    """Counts every intermediate state in sets and sums; knows nothing of gitbot's constraints.

    A wave is judged with all of its moves in flight: every VM holds both places. That is the most
    that can be held in any order of completion. Groups that stay together hold all their places in
    one zone.
    """

    def __init__(self, case: Instance) -> None:
        self.case = case
        self.host = case.host.copy()
        self.rules = [
            (kind, group)
            for kind, groups in (
                ("host", case.apart_hosts),
                ("zone", case.apart_zones),
                ("near", case.together),
            )
            for group in groups
        ]
        self.of_vm: dict[int, list[int]] = {}
        for number, (_, group) in enumerate(self.rules):
            for member in group:
                self.of_vm.setdefault(member, []).append(number)

    def carry_out(self, wave: Sequence[Move]) -> None:
        case = self.case
        going = dict(wave)
        assert len(going) == len(wave), "a VM moves twice at once"
        for columns, capacity in ((case.vm_cpu, case.cpu), (case.vm_memory, case.memory)):
            used = np.bincount(self.host, weights=columns, minlength=len(capacity))
            np.add.at(used, list(going.values()), columns[list(going)])
            targets = sorted(set(going.values()))
            assert (used[targets] <= capacity[targets]).all(), "a node holds more than it has"
        for number in {rule for mover in going for rule in self.of_vm.get(mover, ())}:
            before = self._amount(number, {})
            assert self._amount(number, going) <= before, f"rule {self.rules[number]} gets worse"
        assert not set(going.values()) & set(case.drained), "a move to a node that is emptied"
        for mover, target in wave:
            self.host[mover] = target

    def _amount(self, number: int, going: dict[int, int]) -> int:
        """How many VMs too many hold a place in a domain, or how many zones a group spans."""
        kind, group = self.rules[number]
        held: dict[int, set[int]] = {}
        for member in group:
            for place in {int(self.host[member]), going.get(member, int(self.host[member]))}:
                domain = place if kind == "host" else int(self.case.zone[place])
                held.setdefault(domain, set()).add(member)
        if kind == "near":
            return len(held) - 1
        return sum(len(members) - 1 for members in held.values())
