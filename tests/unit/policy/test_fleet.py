"""What the packs see of a whole plan: counts, what moves at once, memory afterwards."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.problem import EmptyNodes
from gitbot.planner import make_plan
from gitbot.policy.fleet import fleet_makers
from gitbot.policy.keys import label_keys, topology_keys
from tests.doubles.problems import node, problem, request, vm
from tests.unit.planner.reading import move, spread

Objects = list[KubernetesObject | tuple[KubernetesObject, ...]]


def owner_of(namespace: str) -> str:
    return {"default": "acme/shop"}.get(namespace, "")


def facts(objects: Objects, goal: Any, *, rule: bool = False) -> dict[str, Any]:
    case = problem(objects, goals=[goal])
    case = spread(case) if rule else case
    makers = fleet_makers(make_plan(case), case, owner_of)
    return {name: make() for name, make in makers.items()}


def test_counts_by_place_owner_and_hour() -> None:
    objects: Objects = [
        node("n1", zone="a"),
        node("n2", zone="b"),
        vm("x", on="n1"),
        vm("y", on="n1"),
    ]
    counts = facts(objects, move("x", "y", to="n2"))["counts"]
    assert counts["source"] == [{"name": "n1", "moves": 2}]
    assert counts["target"] == [{"name": "n2", "moves": 2}]
    assert counts["zone"] == [{"name": "a", "moves": 2}]
    assert counts["namespace"] == [{"name": "default", "moves": 2}]
    assert counts["owner"] == [{"name": "acme/shop", "moves": 2}]
    assert [item["moves"] for item in counts["hour"]] == [2]


def test_members_of_a_rule_that_move_at_once() -> None:
    labels = {"app": "db"}
    objects: Objects = [
        *(node(f"n{number}", zone=zone) for number, zone in enumerate("abcd")),
        vm("db-1", on="n0", labels=labels),
        vm("db-2", on="n1", labels=labels),
        vm("web", on="n0"),
    ]
    drain = EmptyNodes(request=request("drain"), nodes=("n0", "n1"), max_nodes_at_once=2)
    found = facts(objects, drain, rule=True)
    assert found["quorums"] == [
        {
            "rule": "ZoneAntiAffinity/default/spread",
            "members": 2,
            "together": 2,
            "vms": ["db-1", "db-2"],
        }
    ]
    assert found["zonesAtOnce"] == ["a", "b"]


@pytest.mark.parametrize("together", [True, False])
def test_nodes_that_leave_together_are_in_all_of_their_zones(together: bool) -> None:
    """One VM alone moves; the other node is empty, and out of service with it."""
    objects: Objects = [
        *(node(f"n{number}", zone=zone) for number, zone in enumerate("abc")),
        vm("x", on="n0"),
    ]
    drain = EmptyNodes(request=request("drain"), nodes=("n0", "n1"), together=together)
    assert facts(objects, drain)["zonesAtOnce"] == (["a", "b"] if together else ["a"])


def test_nothing_moves() -> None:
    objects: Objects = [node("n1"), vm("x", on="n1")]
    found = facts(objects, move("x", to="n1"))
    assert found["quorums"] == []
    assert found["zonesAtOnce"] == []
    assert found["headroom"] == {"targets": [], "atRiskBefore": [], "atRiskAfter": []}


@pytest.mark.parametrize(
    ("room", "risk"),
    [
        pytest.param("8Gi", [], id="n3 has room for all VMs of n2"),
        pytest.param("4Gi", ["n2"], id="n3 has room for one of them"),
    ],
)
def test_headroom_after_the_plan(room: str, risk: list[str]) -> None:
    objects: Objects = [
        node("n1", memory="8Gi", unschedulable=True),
        node("n2", memory="8Gi"),
        node("n3", memory=room),
        vm("x", on="n1", memory="2Gi"),
        vm("y", on="n2", memory="2Gi"),
        vm("z", on="n3", memory="1Gi"),
    ]
    headroom = facts(objects, move("x", to="n2"))["headroom"]
    assert headroom["targets"] == [
        {"node": "n2", "freeBytes": 4 * 2**30, "allocatableBytes": 8 * 2**30}
    ]
    assert headroom["atRiskBefore"] == []
    assert headroom["atRiskAfter"] == risk


def test_keys_of_a_spec() -> None:
    spec = {
        "selector": {"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "tier"}]},
        "topologySpread": [{"topologyKey": "example.com/rack"}],
    }
    assert topology_keys(spec) == ["example.com/rack"]
    assert label_keys(spec) == ["app", "example.com/rack", "tier"]
