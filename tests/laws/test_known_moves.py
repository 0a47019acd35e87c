"""What the exact search knows by itself of moves is what the board says of them, in every state."""

import random
from collections import Counter

import pytest

from gitbot.planner.plan_types import TargetPolicy
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.search.move_cache import KnownMoves, bits
from gitbot.planner.search.reachability import Openings
from gitbot.planner.state.plan_state import PlanState
from tests.laws.tiny import Tiny, problem_of, tiny
from tests.laws.tiny_scarce import scarce

STEPS = 25


def compared(case: Tiny, seed: int) -> Counter[str]:
    """Walks from state to state, and asks both in each. How often which of them said what."""
    draw, found = random.Random(seed), Counter[str]()
    board = PlanState.of(ProblemIndex.of(problem_of(case)))
    movers = sorted(board.occupancy)
    openings = Openings(board, movers)
    answers = KnownMoves(board, movers, openings)
    wish = TargetPolicy(closed={draw.choice(board.nodes): "closed"})
    reach = [openings.reach(place, [(wish, frozenset())]) for place in range(len(movers))]
    for _ in range(STEPS):
        state = board.key(movers)
        room = openings.room(state)
        lawful = []
        for place, vm in enumerate(movers):
            told = bits(board.feasible(vm, wish))
            able = reach[place] & room(place) & ~(1 << board.number[state[place]])
            assert told & ~able == 0, (case, state, vm)
            lawful += [(vm, n) for n in range(len(board.nodes)) if told >> n & 1]
            if answers.tells(place):
                mine = answers.where(place, able, state, lambda: None)
                assert mine == told, (case, state, vm, bin(mine), bin(told))
                found["told"] += 1
                found["refused"] += able != told
            else:
                found["not told"] += 1
        if not lawful:
            break
        vm, number = draw.choice(lawful)
        board.take(board.step(vm, board.nodes[number], wish))
    return found


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_answers_that_are_kept_are_those_of_the_board(first: int) -> None:
    found = Counter[str]()
    for seed in range(first, first + 40):
        found += compared(tiny(seed), seed)
        if seed % 4 == 0:
            found += compared(scarce(seed), seed)
    assert found["told"] > 5 * found["not told"]
    assert found["refused"] > 500
