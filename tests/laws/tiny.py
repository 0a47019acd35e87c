"""Tiny random placement problems: up to five nodes, seven VMs, three rules and a goal."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import (
    EmptyNodes,
    Goal,
    HealRule,
    MoveVms,
    Pin,
    PlacementProblem,
    ReturnHome,
    Target,
)
from gitbot.model.text.names import IntentRef
from tests.doubles.problems import HOSTNAME, ZONE, named, node, problem, request, vm

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KEYS = {"zone": ZONE, "host": HOSTNAME}
Kind = Literal["node", "zone", "anywhere", "two", "heal", "empty", "leave", "home"]
KINDS: tuple[Kind, ...] = (
    "node", "zone", "anywhere", "two", "heal", "heal", "empty", "leave", "home",
)  # fmt: skip
Shape = Literal["most", "fast", "near", "apart", "even"]
SHAPES: tuple[Shape, ...] = ("most", "most", "most", "fast", "near", "apart", "even")
State = tuple[int, ...]
"""The node number of every VM, by VM number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyNode:
    """A node; `room` in GiB."""

    name: str
    zone: str
    fast: bool
    room: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyVm:
    """A VM on node number `on`.

    `apart`: it refuses pods of its own app in the same zone or on the same host. `beside`: it wants
    a pod of app "y" in its zone or on its host.
    """

    name: str
    on: int
    size: int
    app: str
    fast: bool = False
    apart: str = ""
    beside: str = ""
    migratable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyRule:
    """A rule over the VMs of an app and a domain, zone or host.

    "most": at most `most` in a domain; "fast": on fast nodes only; "near", "apart": with or without
    a VM of app "y" in the domain; "even": domains differ by at most one.
    """

    shape: Shape
    app: str
    domain: str
    required: bool
    most: int = 0

    @property
    def name(self) -> str:
        """A name of its own."""
        return f"{self.shape}-{self.app}-{self.domain}-{self.most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiny:
    """One tiny problem. `vms` and `nodes` of the goal are numbers; `zone` is a target zone."""

    nodes: tuple[TinyNode, ...]
    vms: tuple[TinyVm, ...]
    rules: tuple[TinyRule, ...]
    kind: Kind
    goal_vms: tuple[int, ...] = ()
    goal_nodes: tuple[int, ...] = ()
    zone: str = ""

    @property
    def start(self) -> State:
        """Where the VMs are."""
        return tuple(item.on for item in self.vms)


def tiny(seed: int) -> Tiny:
    """The tiny problem of a seed."""
    draw = random.Random(seed)
    zones = "abc"[: draw.randint(1, 3)]
    nodes = tuple(
        TinyNode(
            name=f"n{number}",
            zone=draw.choice(zones),
            fast=draw.random() < 0.6,
            room=draw.choice((4, 5, 6, 8, 10)),
        )
        for number in range(draw.randint(2, 5))
    )
    vms = tuple(_vm(draw, nodes, number) for number in range(draw.randint(1, 7)))
    rules = tuple(_rule(draw) for _ in range(draw.choice((0, 1, 1, 2, 2, 3))))
    if len({rule.name for rule in rules}) < len(rules):
        rules = rules[:1]
    case = Tiny(nodes=nodes, vms=vms, rules=rules, kind=draw.choice(KINDS))
    return _with_goal(draw, case)


def _vm(draw: random.Random, nodes: Sequence[TinyNode], number: int) -> TinyVm:
    on = draw.randrange(len(nodes))
    return TinyVm(
        name=f"v{number}",
        on=on,
        size=draw.choice((1, 1, 2, 3)),
        app=draw.choice("xy"),
        fast=nodes[on].fast and draw.random() < 0.2,
        apart=draw.choice(("zone", "host")) if draw.random() < 0.15 else "",
        beside=draw.choice(("zone", "host")) if draw.random() < 0.15 else "",
        migratable=draw.random() < 0.93,
    )


def _rule(draw: random.Random) -> TinyRule:
    shape = draw.choice(SHAPES)
    return TinyRule(
        shape=shape,
        app=draw.choice("xy"),
        domain=draw.choice(("zone", "host")),
        most=draw.choice((1, 1, 2)) if shape == "most" else 0,
        required=draw.random() < 0.8,
    )


def _with_goal(draw: random.Random, case: Tiny) -> Tiny:
    numbers = list(range(len(case.vms)))
    some = tuple(sorted(draw.sample(numbers, draw.randint(1, min(4, len(numbers))))))
    hosts = list(range(len(case.nodes)))
    match case.kind:
        case "node":
            return replace(case, goal_vms=some, goal_nodes=(draw.choice(hosts),))
        case "two":
            return replace(case, goal_vms=some, goal_nodes=(draw.choice(hosts), draw.choice(hosts)))
        case "zone":
            return replace(case, goal_vms=some, zone=draw.choice(case.nodes).zone)
        case "anywhere":
            return replace(case, goal_vms=some)
        case "home":
            homes = tuple(draw.choice(hosts) for _ in some)
            return replace(case, goal_vms=some, goal_nodes=homes)
        case "heal":
            rules = case.rules or (_rule(draw),)
            return replace(case, rules=rules)
        case "empty" | "leave":
            count = draw.randint(1, min(2, len(hosts)))
            return replace(case, goal_nodes=tuple(draw.sample(hosts, count)))


def problem_of(case: Tiny) -> PlacementProblem:
    """The tiny problem as objects, rules and a goal."""
    objects: list[KubernetesObject | tuple[KubernetesObject, ...]] = [
        *(
            node(
                item.name,
                zone=item.zone,
                memory=f"{item.room}Gi",
                labels={"speed": "fast" if item.fast else "slow"},
            )
            for item in case.nodes
        ),
        *(_objects(case, item) for item in case.vms),
    ]
    bare = problem(objects)
    instances = Instances(bare.snapshot)
    rules = tuple(_constraint(instances, rule) for rule in case.rules)
    return replace(bare, rules=(*rules, *own_rules(bare.snapshot)), goals=_goals(case, rules))


def _constraint(instances: Instances, rule: TinyRule) -> RuleConstraint:
    selector = {"matchLabels": {"app": rule.app}}
    if rule.shape == "most":
        return zone_anti_affinity(
            instances,
            ref=IntentRef(kind="ZoneAntiAffinity", namespace="default", name=rule.name),
            namespace="default",
            selector=selector,
            topology_key=KEYS[rule.domain],
            max_per_domain=rule.most,
            required=rule.required,
        )
    fast = {"key": "speed", "operator": "In", "values": ["fast"]}
    even = {
        "maxSkew": 1,
        "topologyKey": KEYS[rule.domain],
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    terms: dict[Shape, Mapping[str, Any]] = {
        "fast": {
            "node_affinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [fast]}]}}
        },
        "near": {"affinity": _term("y", rule.domain)},
        "apart": {"anti_affinity": _term("y", rule.domain)},
        "even": {"topology_spread": [even]},
    }
    (found,) = placement_rules(
        instances,
        ref=IntentRef(kind="PlacementRule", namespace="default", name=rule.name),
        namespace="default",
        selector=selector,
        required=rule.required,
        **terms[rule.shape],
    )
    return found


def _objects(case: Tiny, item: TinyVm) -> tuple[KubernetesObject, ...]:
    affinity: dict[str, object] = {}
    if item.apart:
        affinity["podAntiAffinity"] = _term(item.app, item.apart)
    if item.beside:
        affinity["podAffinity"] = _term("y", item.beside)
    return vm(
        item.name,
        on=case.nodes[item.on].name,
        labels={"app": item.app},
        memory=f"{item.size}Gi",
        cpu="10m",
        migratable=item.migratable,
        node_selector={"speed": "fast"} if item.fast else None,
        affinity=affinity or None,
    )


def _term(app: str, domain: str) -> Mapping[str, object]:
    return {
        REQUIRED: [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": KEYS[domain]}]
    }


def _goals(case: Tiny, rules: Sequence[RuleConstraint]) -> tuple[Goal, ...]:
    if case.kind == "two":
        one, two = (replace(case, kind="node", goal_nodes=(number,)) for number in case.goal_nodes)
        half = (len(case.goal_vms) + 1) // 2
        return (
            _goal(replace(one, goal_vms=case.goal_vms[:half]), rules, "one"),
            _goal(replace(two, goal_vms=case.goal_vms[half:]), rules, "two"),
        )
    return (_goal(case, rules, "goal"),)


def _goal(case: Tiny, rules: Sequence[RuleConstraint], name: str) -> Goal:
    made_for = request(name)
    names = tuple(named(case.vms[number].name) for number in case.goal_vms)
    hosts = tuple(case.nodes[number].name for number in case.goal_nodes)
    match case.kind:
        case "node":
            return MoveVms(request=made_for, vms=names, target=Target(nodes=hosts), pin=Pin.NODE)
        case "zone":
            target = Target(node_selector={ZONE: case.zone})
            return MoveVms(request=made_for, vms=names, target=target, pin=Pin.NODE)
        case "anywhere":
            return MoveVms(request=made_for, vms=names, target=Target(), pin=Pin.NODE)
        case "home":
            return ReturnHome(request=made_for, homes=dict(zip(names, hosts, strict=True)))
        case "heal":
            return HealRule(request=made_for, rule=rules[0].ref)
        case "empty" | "leave":
            return EmptyNodes(request=made_for, nodes=hosts, block=case.kind == "empty")
    raise AssertionError(case.kind)
