"""Moves that the scheduler decides: where they may land, and what is too risky to plan."""

import pytest

from gitbot.model.plan.problem import Pin
from tests.doubles.problems import HOSTNAME, ZONE, node, problem, vm
from tests.unit.planner.reading import held, move, planned, spread
from tests.unit.planner.test_drain import empty

DB = {"app": "db"}
NODES = [
    node("a1", zone="a"),
    node("a2", zone="a", labels={"speed": "fast"}),
    node("b1", zone="b", labels={"speed": "fast"}),
    node("b2", zone="b"),
]


@pytest.mark.parametrize(
    ("pin", "labels", "allowed", "added", "codes"),
    [
        pytest.param(Pin.ZONE, {ZONE: "b"}, ("b1", "b2"), {ZONE: "b"}, [], id="zone pinned"),
        pytest.param(Pin.NONE, {}, ("a2", "b1", "b2"), {}, [], id="anywhere"),
        pytest.param(Pin.NONE, {ZONE: "b"}, (), {}, ["unsafe-landing"], id="zone not pinned"),
        pytest.param(Pin.ZONE, {"speed": "fast"}, ("a2",), {ZONE: "a"}, [], id="fast zone left"),
        pytest.param(Pin.NONE, {"speed": "fast"}, (), {}, ["unsafe-landing"], id="a slow one too"),
        pytest.param(
            Pin.ZONE, {HOSTNAME: "b1"}, (), {}, ["unsafe-landing"], id="no detour over b2"
        ),
        pytest.param(Pin.NODE, {ZONE: "b"}, ("b1",), {HOSTNAME: "b1"}, [], id="pinned to a node"),
    ],
)
def test_allowed_nodes(
    pin: Pin,
    labels: dict[str, str],
    allowed: tuple[str, ...],
    added: dict[str, str],
    codes: list[str],
) -> None:
    goal = move("v", labels=labels, pin=pin)
    plan = planned(problem([*NODES, vm("v", on="a1")], goals=[goal]))
    assert [code for _, code in held(plan)] == codes
    assert [item.allowed_nodes for item in plan.moves] == ([allowed] if allowed else [])
    assert [dict(item.added_node_selector) for item in plan.moves] == ([added] if allowed else [])


def test_a_landing_on_a_node_that_is_emptied_is_named_and_takes_no_search() -> None:
    asked = move("v", labels={ZONE: "b"}, pin=Pin.ZONE)
    case = problem([*NODES, vm("v", on="a1"), vm("w", on="b2")], goals=[asked, empty("b2")])
    plan = planned(case)
    assert held(plan) == [("v", "unsafe-landing")]
    assert plan.holds[0].reason.startswith("the scheduler may also choose b2, where")
    assert plan.holds[0].hint == "write pin: Node"


def test_a_landing_that_would_break_a_rule_holds_the_vm() -> None:
    case = problem(
        [*NODES, vm("x", on="b1", labels=DB), vm("v", on="a1", labels=DB)],
        goals=[move("v", pin=Pin.NONE)],
    )
    assert held(planned(spread(case, most=1))) == [("v", "unsafe-landing")]


def test_two_that_may_land_on_the_same_node_are_not_planned_together() -> None:
    case = problem(
        [*NODES, vm("v", on="a1", labels=DB), vm("w", on="a2", labels=DB)],
        goals=[move("v", "w", labels={ZONE: "b"}, pin=Pin.ZONE)],
    )
    plan = planned(spread(case, key=HOSTNAME))
    assert [item.vm.name for item in plan.moves] == ["v"]
    assert [hold.vm.name for hold in plan.holds] == ["w"]


def test_room_that_others_leave_counts_among_the_landings() -> None:
    small = [node(name, zone="b", memory="4Gi") for name in ("b3", "b4")]
    case = problem(
        [
            node("a1", zone="a"),
            node("a2", zone="a"),
            *small,
            vm("v", on="a1", memory="3Gi"),
            vm("full", on="b4", memory="3Gi"),
        ],
        goals=[
            move("v", labels={ZONE: "b"}, pin=Pin.ZONE, name="in"),
            move("full", to="a2", name="out"),
        ],
    )
    plan = planned(case)
    assert {item.vm.name: item.allowed_nodes for item in plan.moves} in (
        {"v": ("b3", "b4"), "full": ("a2",)},
        {"v": ("b3",), "full": ("a2",)},
    )
