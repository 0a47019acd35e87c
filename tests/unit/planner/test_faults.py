"""A planner that contradicts itself: the plan leaves out little, and says what and why."""

from collections.abc import Callable
from typing import Any

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.errors import LimitExceeded
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.problem import EmptyNodes, PlacementProblem
from gitbot.planner import make_plan
from gitbot.planner import plan as planning
from gitbot.planner.goals import drain as goal_of_drains
from gitbot.planner.goals import move as goal_of_moves
from gitbot.planner.plan_types import Step
from gitbot.planner.schedule import schedule as clock
from gitbot.planner.state.plan_state import PlanState
from tests.doubles.problems import named, node, problem, request, vm
from tests.unit.planner.reading import held, move, moved, planned

NODES = [node(name) for name in "abcde"]
VMS = [vm("v1", on="a"), vm("v2", on="b"), vm("v3", on="c"), vm("v4", on="c")]
DRAIN = EmptyNodes(request=request("drain"), nodes=("c",))


FIRST = MigrationRequestId(namespace="default", name="first")


def two_requests() -> PlacementProblem:
    goals = [move("v1", to="d", id=FIRST), move("v2", to="e"), DRAIN]
    return problem([*NODES, *VMS], goals=goals)


def without_the_first() -> PlacementProblem:
    return problem([*NODES, *VMS], goals=two_requests().goals[1:])


def raising(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    when: Callable[..., bool],
    error: type[Exception] = AssertionError,
) -> None:
    whole = getattr(owner, name)

    def planted(*args: Any, **named: Any) -> Any:
        if when(*args, **named):
            raise error("secret words of an object")
        return whole(*args, **named)

    monkeypatch.setattr(owner, name, planted)


def is_v1(_: object, step: Step) -> bool:
    return step.vm == named("v1")


def test_a_plan_without_a_contradiction_has_no_faults() -> None:
    assert planned(two_requests()).faults == ()


def test_only_the_vm_is_left_out_about_which_the_planner_contradicts_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = planned(without_the_first())
    raising(monkeypatch, PlanState, "take", is_v1)
    plan = planned(two_requests())
    assert moved(plan) == moved(other)
    assert held(plan) == [("v1", "internal")]
    (fault,) = plan.faults
    assert (fault.what, fault.vm, fault.node) == ("AssertionError", "default/v1", "d")
    assert fault.left_out == "default/v1 of request/default/first"
    assert fault.intent == request().intent


def test_the_report_names_place_and_snapshot_and_no_words_of_the_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = two_requests()
    raising(monkeypatch, PlanState, "take", is_v1)
    (fault,) = make_plan(case).faults
    assert fault.report.startswith("AssertionError; at gitbot.planner.search.greedy:")
    assert fault.report.endswith(f"vm default/v1; node d; snapshot {case.snapshot.digest}")
    assert "\n" not in fault.report
    assert "secret" not in repr(fault)
    assert (fault,) == make_plan(case).faults


def test_a_request_is_left_out_if_it_raises_about_no_vm(monkeypatch: pytest.MonkeyPatch) -> None:
    other = planned(without_the_first())
    raising(
        monkeypatch,
        goal_of_moves,
        "_claim",
        lambda _board, goal, *_: goal.request.id == FIRST,
        KeyError,
    )
    plan = planned(two_requests())
    assert moved(plan) == moved(other)
    assert held(plan) == [("v1", "internal")]
    assert [fault.left_out for fault in plan.faults] == [FIRST]


def test_a_drain_that_is_left_out_keeps_its_nodes_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, goal_of_drains, "empty_nodes", lambda *_: True, ZeroDivisionError)
    plan = planned(problem([*NODES[:3], *VMS], goals=[move("v1"), DRAIN]))
    assert moved(plan) == [("v1", "a", "b", 0)]
    assert held(plan) == [("v3", "internal"), ("v4", "internal")]
    assert [(drain.emptied, drain.kept) for drain in plan.drains] == [((), ("c",))]


def test_a_refuted_plan_is_made_again_without_the_refuted_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = PlanState.step

    def wrong_pin(self: PlanState, name: Any, target: str, wish: Any) -> Step:
        step = whole(self, name, target, wish)
        if name != named("v1"):
            return step
        return Step(vm=step.vm, source=step.source, node=step.node, landings=(), wish=wish)

    other = planned(without_the_first())
    monkeypatch.setattr(PlanState, "step", wrong_pin)
    plan = planned(two_requests())
    assert moved(plan) == moved(other)
    assert held(plan) == [("v1", "internal")]
    assert [fault.what for fault in plan.faults] == [
        "refuted: constraints/landing, constraints/pin"
    ]


def test_moves_without_an_order_have_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = clock._Clock._starts
    monkeypatch.setattr(
        clock._Clock,
        "_starts",
        lambda self, item: item.planned.step.vm.name != "v1" and starts(self, item),
    )
    (fault,) = planned(two_requests()).faults
    assert (fault.what, fault.vm) == ("no order", "default/v1")


@pytest.mark.parametrize("name", ["with_proofs", "with_remedies", "with_groups"])
def test_what_only_tells_more_is_left_out_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    case = problem([*NODES, *VMS, vm("big", on="a", memory="300Gi")], goals=[move("big", "v1")])
    whole = planned(case)
    raising(monkeypatch, planning, name, lambda *_: True)
    plan = planned(case)
    assert moved(plan) == moved(whole)
    assert held(plan) == held(whole)
    assert len(plan.faults) == 1


@pytest.mark.parametrize("name", ["assemble", "schedule", "replay"])
def test_a_plan_that_can_never_be_made_is_empty_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    raising(monkeypatch, planning, name, lambda *_: True)
    plan = make_plan(two_requests())
    assert plan.moves == ()
    assert plan.faults
    assert plan.snapshot.digest == two_requests().snapshot.digest


@pytest.mark.parametrize("error", [LimitExceeded, MemoryError])
def test_an_answer_about_input_or_machine_is_no_contradiction(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    raising(monkeypatch, PlanState, "take", lambda *_: True, error)
    with pytest.raises(error):
        make_plan(two_requests())


def test_of_many_vms_that_raise_three_are_left_out_then_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"w{number}" for number in range(6)]
    vms = [vm(name, on="a") for name in names]
    raising(monkeypatch, PlanState, "take", lambda _, step: step.vm.name in names)
    plan = planned(problem([*NODES, *VMS, *vms], goals=[move(*names), DRAIN]))
    assert {name for name, code in held(plan) if code == "internal"} == set(names)
    assert {name for name, *_ in moved(plan)} == {"v3", "v4"}
    assert len(plan.faults) == 4


def test_a_refuted_plan_is_made_again_without_moves_that_overtake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order alone may be what the replay refuses: then nothing has to be left out."""
    case, whole = two_requests(), planned(two_requests())
    orders: list[bool] = []
    order, judge = clock.schedule, replay

    def noted(*given: Any, eager: bool) -> Any:
        orders.append(eager)
        return order(*given, eager=eager)

    def refuting_overtakers(*given: Any) -> Any:
        return ("refuted",) if all(orders) else judge(*given)

    monkeypatch.setattr(planning, "schedule", noted)
    monkeypatch.setattr(planning, "replay", refuting_overtakers)
    plan = make_plan(case)
    assert (orders[0], orders[-1]) == (True, False)
    assert (moved(plan), plan.faults) == (moved(whole), ())
