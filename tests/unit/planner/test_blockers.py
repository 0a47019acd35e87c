"""Who would have to leave so that a VM may go to a node."""

import random

from gitbot.model.plan.problem import PlacementProblem
from gitbot.planner.plan_types import TargetPolicy
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.state.blockers import blockers
from gitbot.planner.state.plan_state import PlanState
from tests.laws.tiny import problem_of, tiny


def board_of(case: PlacementProblem) -> PlanState:
    return PlanState.of(ProblemIndex.of(case))


def test_without_them_and_with_room_the_step_could_start() -> None:
    """On random small clusters: nobody blocks a lawful step, and who blocks is enough."""
    seen = {"none": 0, "nobody": 0, "some": 0}
    for seed in range(300):
        case = problem_of(tiny(seed))
        board = board_of(case)
        vms = sorted(vm for vm in board.facts.vmis if board.place(vm))
        vm, node = random.Random(seed).choice(vms), random.Random(seed).choice(board.nodes)
        found = blockers(board, vm, node, TargetPolicy(), lambda _: True)
        if board.feasible(vm, TargetPolicy())[board.number[node]]:
            assert found == frozenset()
        if found is None:
            seen["none"] += 1
            continue
        seen["some" if found else "nobody"] += 1
        with board.trial():
            for other in found:
                board.lift(other)
            fits = board.transit.world.fits(board.transit.target_pod(vm), node)
            enough = all(
                board.room(resource)[board.number[node]] >= amount
                for resource, amount in board.asks(vm).items()
            )
            assert board.keeps(vm, node)
            assert fits is enough
    assert min(seen.values()) > 5
