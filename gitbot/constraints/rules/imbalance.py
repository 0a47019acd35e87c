"""How full nodes are by requests, and the wish that none is much fuller than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.columns import Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.text.names import IntentRef

WHOLE = 1000
RESOURCES = ("cpu", "memory")


def fullness(allocatable: Callable[[str], Numbers], used: Callable[[str], Numbers]) -> Numbers:
    """How full nodes are, in per mille of their fuller resource, cpu or memory."""
    cpu, memory = (
        used(resource) * WHOLE // np.maximum(allocatable(resource), 1) for resource in RESOURCES
    )
    full: Numbers = np.maximum(cpu, memory)
    return full


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Imbalance(NoMaximum):
    """The fullest node that a member can leave is fuller than the emptiest by `above` percent.

    `others` is what other pods request on each node, by resource; `asks` what each member does.
    `opens` are the nodes that take VMs. The only breach has the key `spread`.
    """

    ref: IntentRef
    above: int
    number: Mapping[str, int]
    sizes: Mapping[str, Numbers]
    others: Mapping[str, Numbers]
    asks: Mapping[NamespacedName, tuple[int, ...]]
    opens: frozenset[str]
    required: bool = False
    parts: ClassVar[tuple[object, ...]] = ()

    @property
    def members(self) -> frozenset[NamespacedName]:
        return frozenset(self.asks)

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        used = {resource: amounts.copy() for resource, amounts in self.others.items()}
        here: dict[str, list[NamespacedName]] = {}
        for vm in sorted(self.asks.keys() & occupancy.keys()):
            for node in occupancy[vm] & self.number.keys():
                here.setdefault(node, []).append(vm)
                for resource, amount in zip(RESOURCES, self.asks[vm], strict=True):
                    used[resource][self.number[node]] += amount
        full = fullness(self.sizes.__getitem__, used.__getitem__)
        shares = {node: int(full[number]) for node, number in self.number.items()}
        if not here or not self.opens:
            return ()
        fullest = min(here, key=lambda node: (-shares[node], node))
        emptiest = min(self.opens, key=lambda node: (shares[node], node))
        if shares[fullest] - shares[emptiest] <= self.above * WHOLE // 100:
            return ()
        message = (
            f"{fullest} is {shares[fullest] // 10} % full by requests and {emptiest} "
            f"{shares[emptiest] // 10} %, more than {self.above} points apart"
        )
        vms = tuple(here[fullest])
        return (Breach(rule=self.ref, key="spread", amount=1, message=message, vms=vms),)

    def explain(self, _vm: NamespacedName, _node: str, _occupancy: Occupancy) -> str:
        return ""


def imbalance(
    snapshot: ClusterSnapshot, ref: IntentRef, members: frozenset[NamespacedName], *, above: int
) -> Imbalance:
    world, instances = World.of(snapshot), Instances.of(snapshot)
    columns = world.state.columns
    number = {node.name: index for index, node in enumerate(world.nodes)}
    others = {resource: world.state.column(resource).copy() for resource in RESOURCES}
    asks: dict[NamespacedName, tuple[int, ...]] = {}
    for vm in sorted(members):
        source = instances.source_pod_of(vm)
        pod = None if source is None else world.pod(source)
        if pod is None or instances[vm].node not in number:
            continue
        held = world.asks(pod)
        asks[vm] = tuple(held.get(resource, 0) for resource in RESOURCES)
        for resource, amount in zip(RESOURCES, asks[vm], strict=True):
            others[resource][number[instances[vm].node]] -= amount
    return Imbalance(
        ref=ref,
        above=above,
        number=number,
        sizes={resource: columns.allocatable(resource) for resource in RESOURCES},
        others=others,
        asks=asks,
        opens=frozenset(node.name for node in world.nodes if _is_open(node)),
    )


def _is_open(node: Node) -> bool:
    """Whether VMs start on the node: one with a taint is for others, or not well."""
    closed = any(taint.effect in ("NoSchedule", "NoExecute") for taint in node.taints)
    return node.labels.get(SCHEDULABLE) == "true" and not node.unschedulable and not closed
