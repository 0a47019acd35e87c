"""Somebody ends the planning: the plan is what was found until then, lawful, and says so."""

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.model.plan.problem import EmptyNodes
from gitbot.planner import make_plan
from tests.doubles.problems import node, problem, request, vm

NODES = [node(f"n{number}", zone="abc"[number % 3]) for number in range(9)]
VMS = [vm(f"vm-{number}", on=f"n{number % 3}", memory="8Gi") for number in range(12)]


class Impatient:
    """Asks to end once so many moves are planned."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.most = 0

    def begins(self, stage: str) -> None:
        raise AssertionError(f"a planner begins no stage: {stage}")

    def planned(self, moves: int) -> None:
        self.most = max(self.most, moves)

    def stopped(self) -> bool:
        return self.most >= self.patience


@pytest.mark.parametrize(("patience", "expected"), [(0, 0), (4, 4), (8, 8), (13, 12)])
def test_the_plan_so_far(patience: int, expected: int) -> None:
    drain = EmptyNodes(
        request=request("drain"),
        nodes=("n0", "n1", "n2"),
        max_nodes_at_once=1,
        block=True,
        cordoned_by_gitbot=True,
    )
    case = problem([*NODES, *VMS], goals=[drain])
    onlooker = Impatient(patience)
    plan = make_plan(case, onlooker=onlooker)
    assert len(plan.moves) == expected
    assert replay(case, plan) == ()
    held = {hold.vm.name for hold in plan.holds if hold.code == "interrupted"}
    assert held | {move.vm.name for move in plan.moves} == {f"vm-{n}" for n in range(12)}
