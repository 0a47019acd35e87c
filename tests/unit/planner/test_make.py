"""make_plan on small clusters: what moves, where to, in which wave, and what is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from gitbot.model.constraint import Breach, Occupancy
from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.plan import PlacementPlan
from gitbot.model.problem import HealRule, MoveVms, Pin, Target
from gitbot.planner import make_plan
from gitbot.testing.problems import named, node, problem, request, vm

SPREAD = IntentRef(kind="ZoneAntiAffinity", namespace="default", name="spread")
ZONES = {"n1": "a", "n2": "b", "n3": "a", "n4": "b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMostOneInAZone:
    """At most one of the members in a zone."""

    members: frozenset[NamespacedName]
    zones: Mapping[str, str]
    ref: IntentRef = SPREAD
    required: bool = True

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        found = []
        for zone in sorted(set(self.zones.values())):
            there = tuple(
                member
                for member in sorted(self.members)
                if any(self.zones[place] == zone for place in occupancy.get(member, ()))
            )
            if len(there) > 1:
                found.append(
                    Breach(
                        rule=self.ref,
                        key=zone,
                        amount=len(there) - 1,
                        message=f"{len(there)} in zone {zone}",
                        vms=there,
                    )
                )
        return tuple(found)

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        after = {**occupancy, vm: frozenset({node})}
        return "; ".join(breach.message for breach in self.breaches(after))


def moved(plan: PlacementPlan) -> list[tuple[str, str, str, int]]:
    return [(move.vm.name, move.source.node, move.to.node, move.wave) for move in plan.moves]


def held(plan: PlacementPlan) -> list[tuple[str, str]]:
    return [(hold.vm.name, hold.code) for hold in plan.holds]


def to_node(target: str, *names: str, pin: Pin = Pin.NODE) -> MoveVms:
    return MoveVms(
        request=request(),
        vms=tuple(named(name) for name in names),
        target=Target(nodes=(target,)),
        pin=pin,
    )


@pytest.mark.parametrize(
    ("names", "moves", "holds"),
    [
        pytest.param(["db"], [("db", "n1", "n3", 0)], [], id="one VM"),
        pytest.param(["on3"], [], [], id="is there already"),
        pytest.param(["gone"], [], [("gone", "not-found")], id="no such VM"),
        pytest.param(["disk"], [], [("disk", "restart-needed")], id="not migratable"),
        pytest.param(
            ["db", "disk"],
            [("db", "n1", "n3", 0)],
            [("disk", "restart-needed")],
            id="the rest is still planned",
        ),
        pytest.param(["huge"], [], [("huge", "no-feasible-node")], id="does not fit"),
    ],
)
def test_move_to_a_node(
    names: list[str], moves: list[tuple[str, str, str, int]], holds: list[tuple[str, str]]
) -> None:
    plan = make_plan(
        problem(
            [
                *(node(name, zone=zone) for name, zone in ZONES.items()),
                vm("db", on="n1"),
                vm("disk", on="n1", migratable=False),
                vm("on3", on="n3", memory="2Gi"),
                vm("huge", on="n2", memory="255Gi"),
            ],
            goals=[to_node("n3", *names)],
        )
    )
    assert (moved(plan), held(plan)) == (moves, holds)


def test_heal_with_one_move() -> None:
    members = frozenset(named(name) for name in ("a", "b"))
    rule = AtMostOneInAZone(members=members, zones=ZONES)
    plan = make_plan(
        problem(
            [
                *(node(name, zone=zone) for name, zone in ZONES.items()),
                vm("a", on="n1", memory="4Gi"),
                vm("b", on="n3", memory="2Gi"),
            ],
            goals=[HealRule(request=request("heal"), rule=rule.ref)],
            rules=[rule],
        )
    )
    assert moved(plan) == [("b", "n3", "n2", 0)]
    assert [(state.before, state.after) for state in plan.rules] == [(1, 0)]
    assert (plan.bound.moves, plan.moves[0].why) == (1, "2 in zone a")
