"""Steps that a plan does not need."""

import pytest

from gitbot.model.plan.problem import Pin, Target
from gitbot.planner.plan_types import TargetPolicy
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.search.prune_steps import drop_needless_steps
from gitbot.planner.state.plan_state import PlanState
from tests.doubles.problems import ZONE, named, node, problem, vm


@pytest.mark.parametrize("pin", [Pin.NODE, Pin.ZONE])
def test_a_vm_that_can_go_at_once_takes_no_detour(pin: Pin) -> None:
    nodes = [node(f"{zone}1", zone=zone) for zone in ("a", "b", "c")]
    board = PlanState.of(ProblemIndex.of(problem([*nodes, vm("v", on="a1")])))
    asked = named("v")
    wish = TargetPolicy(target=Target(node_selector={ZONE: "c"}), pin=pin)
    aside = board.step(asked, "b1", TargetPolicy())
    with board.trial([aside]):
        there = board.step(asked, "c1", wish)
    kept = drop_needless_steps(
        board, [aside, there], {asked}, lambda here: here.place(asked) != "c1"
    )
    assert [(step.source, step.node) for step in kept] == [("a1", "c1")]
