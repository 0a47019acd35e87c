"""An instance as a cluster that gitbot's constraints judge: processes are VMs, machines are nodes.

Each resource is an extended resource. A service's VMs are apart by node. A service that depends on
another has a required affinity to its VMs, by the neighbourhood of their nodes. Only the transient
resources of a moved process count at its home too, so a plain pod that asks for them stays behind.
No rule of gitbot's says that VMs cover at least so many domains: SpreadOver is a rule for that
behind the same port.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.rules.domains import Domains
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import AffinityPart, Peers
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy, RuleConstraint
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects
from tests.bench.instance import NOW, node_name, vm_name
from tests.bench.roadef.model import Model
from tests.doubles.problems import HOSTNAME, node, pod, vm

_LOCATION, _NEIGHBOURHOOD = "bench.example/location", "bench.example/neighbourhood"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadOver(NoMaximum):
    """The members cover at least so many values of a label."""

    ref: IntentRef
    members: frozenset[NamespacedName]
    domains: Domains
    topology_key: str
    least: int
    required: ClassVar[bool] = True
    parts: ClassVar[tuple[object, ...]] = ()

    def signature(self, node: str) -> object:
        return self.domains.column(self.topology_key).get(node)

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        column = self.domains.column(self.topology_key)
        held = {column[node] for member in self.members for node in occupancy.get(member, ())}
        if len(held) >= self.least:
            return ()
        found = f"covers {len(held)} of at least {self.least} domains of {self.topology_key}"
        return (Breach(rule=self.ref, key="", amount=self.least - len(held), message=found),)

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        after = self.breaches({**occupancy, vm: frozenset({node})})
        return after[0].message if after else ""


class Translated:
    """The cluster while processes move, one after the other; every move is judged before it."""

    def __init__(self, model: Model) -> None:
        self.model, self.host = model, model.home.copy()
        snapshot = from_objects("bench", list(_objects(model)), NOW)
        bare = PlacementProblem(cluster="bench", now=NOW, snapshot=snapshot, rules=(), goals=())
        rules = tuple(_rules(model, MigrationState.of(bare).instances.domains))
        self.problem = PlacementProblem(
            cluster="bench", now=NOW, snapshot=snapshot, rules=rules, goals=()
        )
        self._transit = MigrationState.of(self.problem)

    def lawful(self, process: int) -> Mask:
        """The machines to which the process may move now, all others staying."""
        name, world = vm_name(process), self._transit.world
        held = self._hold(process, stay=False)
        mask = world.mask(self._transit.target_pod(name))
        mask = self._transit.rule_mask(name, mask)
        if held:
            self._hold(process, stay=True)
        mask[self.host[process]] = False
        return mask

    def move(self, process: int, machine: int) -> None:
        """Carry a move out. Nothing is checked."""
        self._hold(process, stay=False)
        self._transit.move(vm_name(process), node_name(machine))
        self.host[process] = machine
        self._hold(process, stay=machine != self.model.home[process])

    def broken(self) -> list[str]:
        """What does not hold in the present state, by all rules and all resources."""
        found = [f"{item.rule}: {item.message}" for item in self._transit.breaches()]
        world = self._transit.world
        for one in world.nodes:
            short = [name for name, amount in world.free(one.name).items() if amount < 0]
            found += [f"{one.name} has too little {name}" for name in short]
        return found

    def _hold(self, process: int, *, stay: bool) -> bool:
        """Leave a pod behind at the home of a process or remove it; whether one was there."""
        world, name = self._transit.world, NamespacedName(namespace="bench", name=f"was-{process}")
        there = world.pod(name) is not None
        if stay and not there and self.model.transient.any():
            home = node_name(int(self.model.home[process]))
            left = pod(name.name, on=home, namespace=name.namespace, cpu="0", memory="0")
            amounts = self.model.requirement[process] * self.model.transient
            world.add(Pod.from_object(_asking(left, amounts)), home)
        elif there and not stay:
            world.remove(name)
        return there


def _asking(found: KubernetesObject, amounts: Numbers) -> KubernetesObject:
    asked: dict[str, Any] = found["spec"]["containers"][0]["resources"]["requests"]
    asked.update(_resources(amounts))
    return found


def _resources(amounts: Numbers) -> dict[str, str]:
    return {f"bench.example/r{number:02}": str(amount) for number, amount in enumerate(amounts)}


def _objects(model: Model) -> Iterator[KubernetesObject]:
    places = zip(model.location.tolist(), model.neighbourhood.tolist(), strict=True)
    for number, (location, neighbourhood) in enumerate(places):
        labels = {_LOCATION: str(location), _NEIGHBOURHOOD: str(neighbourhood)}
        found = node(node_name(number), labels=labels, pods="100k")
        found["status"]["allocatable"].update(_resources(model.capacity[number]))
        yield found
    for number, home in enumerate(model.home.tolist()):
        name = vm_name(number)
        machine, launcher = vm(
            name.name, on=node_name(home), namespace=name.namespace, cpu="1m", memory="1Mi"
        )
        yield machine
        yield _asking(launcher, model.requirement[number])


def _rules(model: Model, domains: Domains) -> Iterator[RuleConstraint]:
    members: dict[int, frozenset[NamespacedName]] = {
        service: frozenset(vm_name(int(process)) for process in group)
        for service, group in enumerate(processes_of(model))
    }
    for service, vms in members.items():
        if len(vms) > 1:
            yield ZoneAntiAffinity(
                ref=_ref("ZoneAntiAffinity", f"conflict-{service}"),
                members=vms,
                domains=domains,
                topology_key=HOSTNAME,
            )
        if model.spread[service] > 1:
            yield SpreadOver(
                ref=_ref("SpreadOver", f"spread-{service}"),
                members=vms,
                domains=domains,
                topology_key=_LOCATION,
                least=int(model.spread[service]),
            )
        for other in model.depends[service]:
            near = Peers(topology_key=_NEIGHBOURHOOD, vms=members[other], fixed=frozenset())
            part = AffinityPart(name="affinity", domains=domains, terms=dict.fromkeys(vms, (near,)))
            yield PlacementRule(
                ref=_ref("PlacementRule", f"near-{service}-{other}"),
                parts=(part,),
                members=vms | members[other],
            )


def processes_of(model: Model) -> list[Numbers]:
    """The processes of each service."""
    order = np.argsort(model.service, kind="stable")
    cuts = np.searchsorted(model.service[order], np.arange(1, len(model.depends)))
    return np.split(order, cuts)


def _ref(kind: str, name: str) -> IntentRef:
    return IntentRef(kind=kind, namespace="bench", name=name)
