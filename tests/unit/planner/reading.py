"""Plans as short tuples, and rules in one line, so that tests read as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import MoveVms, Pin, PlacementProblem, Target
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from tests.doubles.problems import ZONE, named, request

SPREAD = IntentRef(kind="ZoneAntiAffinity", namespace="default", name="spread")
EVEN = IntentRef(kind="PlacementRule", namespace="default", name="even")


def planned(case: PlacementProblem) -> PlacementPlan:
    """The plan of a problem, which must replay without a finding."""
    plan = make_plan(case)
    assert replay(case, plan) == ()
    return plan


def moved(plan: PlacementPlan) -> list[tuple[str, str, str, int]]:
    """VM, from, to, wave."""
    return [(move.vm.name, move.source.node, move.to.node, move.wave) for move in plan.moves]


def held(plan: PlacementPlan) -> list[tuple[str, str]]:
    """VM and code."""
    return [(hold.vm.name, hold.code) for hold in plan.holds]


def spread(
    case: PlacementProblem, *, app: str = "db", key: str = ZONE, most: int = 1, **fields: Any
) -> PlacementProblem:
    """The problem with the rule that at most so many VMs of an app share a domain."""
    rule: RuleConstraint = zone_anti_affinity(
        Instances(case.snapshot),
        ref=SPREAD,
        namespace="default",
        selector={"matchLabels": {"app": app}},
        topology_key=key,
        max_per_domain=most,
        **fields,
    )
    return replace(case, rules=(*case.rules, rule))


def even(case: PlacementProblem, *, app: str = "db", key: str = ZONE) -> PlacementProblem:
    """The problem with the rule that an app's VMs are spread evenly over the domains."""
    selector = {"matchLabels": {"app": app}}
    rules = placement_rules(
        Instances(case.snapshot),
        ref=EVEN,
        namespace="default",
        selector=selector,
        topology_spread=[
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ],
    )
    return replace(case, rules=(*case.rules, *rules))


def move(
    *names: str,
    to: str | Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    pin: Pin = Pin.NODE,
    **fields: Any,
) -> MoveVms:
    """A request to move VMs; `fields` are those of the Request."""
    nodes = (to,) if isinstance(to, str) else tuple(to)
    return MoveVms(
        request=request(**fields),
        vms=tuple(named(name) for name in names),
        target=Target(nodes=nodes, node_selector=labels or {}),
        pin=pin,
    )
