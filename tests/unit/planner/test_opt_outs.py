"""The label placement.gitbot.dev/move: who may move a VM, in plans and in their replay."""

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.opt_out import opted_out
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import EmptyNodes, Goal, HealRule, PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from tests.doubles.problems import node, problem, request, vm
from tests.unit.planner.reading import SPREAD, held, move, moved, planned, spread

LABEL = "placement.gitbot.dev/move"
DRAIN = EmptyNodes(
    request=request(
        id=RequestId.read("drain/power/20261206T210000Z"),
        intent=IntentRef(kind="MaintenanceWindow", namespace="", name="power"),
    ),
    nodes=("n1",),
    block=False,
)
HEAL = HealRule(
    request=request(id=RequestId.read("heal/default/ZoneAntiAffinity/spread"), intent=SPREAD),
    rule=SPREAD,
)


def case(value: str, goal: Goal, **labels: str) -> PlacementProblem:
    marks = {LABEL: value} if value else {}
    objects: list[KubernetesObject | tuple[KubernetesObject, ...]] = [
        node("n1", zone="a"),
        node("n2", zone="b"),
        vm("db", on="n1", labels={**marks, **labels}),
    ]
    return problem(objects, goals=[goal])


@pytest.mark.parametrize(
    ("value", "goal", "found"),
    [
        pytest.param("", DRAIN, [], id="no label"),
        pytest.param("never", DRAIN, [("db", "opted-out")], id="drain, never"),
        pytest.param("only-requested", DRAIN, [("db", "opted-out")], id="drain, only-requested"),
        pytest.param("never", move("db", to="n2"), [("db", "opted-out")], id="request, never"),
        pytest.param("only-requested", move("db", to="n2"), [], id="request, only-requested"),
        pytest.param("Never", move("db", to="n2"), [("db", "opted-out")], id="unknown value"),
    ],
)
def test_holds(value: str, goal: Goal, found: list[tuple[str, str]]) -> None:
    plan = planned(case(value, goal))
    assert held(plan) == found
    assert len(plan.moves) == 1 - len(found)


@pytest.mark.parametrize("value", ["never", "only-requested"])
def test_a_healing_moves_the_other_vm_or_says_why_not(value: str) -> None:
    nodes = [node("n1", zone="a"), node("n2", zone="b")]
    mine = vm("db-1", on="n1", labels={"app": "db", LABEL: value})
    free = problem([*nodes, mine, vm("db-2", on="n1", labels={"app": "db"})], goals=[HEAL])
    assert moved(planned(spread(free))) == [("db-2", "n1", "n2", 0)]
    both = vm("db-2", on="n1", labels={"app": "db", LABEL: value})
    stuck = problem([*nodes, mine, both], goals=[HEAL])
    assert held(planned(spread(stuck))) == [("db-1", "opted-out"), ("db-2", "opted-out")]


@pytest.mark.parametrize(("value", "moves"), [("", 2), ("never", 0), ("only-requested", 0)])
def test_it_does_not_step_aside(value: str, moves: int) -> None:
    marks = {LABEL: value} if value else {}
    objects: list[KubernetesObject | tuple[KubernetesObject, ...]] = [
        node("n1", memory="4Gi"),
        node("n2", memory="4Gi"),
        node("n3", memory="3Gi"),
        vm("large", on="n1", memory="3Gi"),
        vm("small", on="n2", memory="2Gi", labels=marks),
    ]
    assert len(planned(problem(objects, goals=[move("large", to="n2")])).moves) == moves


@pytest.mark.parametrize("value", ["never", "only-requested"])
def test_a_label_that_is_set_after_the_plan_counts(value: str) -> None:
    plan = make_plan(case("", DRAIN))
    (said,) = replay(case(value, DRAIN), plan)
    assert said.code == "constraints/opted-out"
    assert LABEL in said.message


def test_the_message_names_what_was_found_and_expected() -> None:
    said = opted_out({LABEL: "no"}, RequestId.read("request/default/move"), named=True)
    assert said == f"found the label {LABEL}=no, expected never or only-requested: it stays"
