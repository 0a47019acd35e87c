"""A plan of a tiny problem beside the best there is, where any VM may move."""

from functools import lru_cache

import pytest
from _pytest.mark import ParameterSet

from gitbot.model.plan.plan import PlacementPlan
from gitbot.planner import make_plan
from tests.laws.tiny import Tiny, problem_of
from tests.laws.tiny_brute import Brute
from tests.laws.tiny_space import Best, space_of

GIB = 1024**3
STEP = 30
KEPT = 1_000


def together(count: int) -> list[ParameterSet]:
    """The seeds below `count` in parts. All laws about a part run in one process: it plans once."""
    parts = (range(first, min(first + STEP, count)) for first in range(0, count, STEP))
    return [
        pytest.param(part, id=str(part.start), marks=pytest.mark.xdist_group(f"tiny{part.start}"))
        for part in parts
    ]


@lru_cache(maxsize=KEPT)
def planned(case: Tiny) -> PlacementPlan:
    """The plan of a case, made once for all laws that look at it."""
    return make_plan(problem_of(case))


@lru_cache(maxsize=KEPT)
def best_of(case: Tiny) -> tuple[Best, int]:
    """The best there is, and what the plan leaves undone after any order of completion."""
    space = space_of(case)
    end = Brute(case, own=space.own).walk(planned(case))
    return space.best(), int(space.undone()[space.at(end)])


def shortfall(case: Tiny) -> str:
    """What a better plan does better: `undone`, `moves` or `memory`; "" if there is none.

    AssertionError if the plan breaks the law in any order of completion, or does more than can be.
    """
    plan, (best, undone) = planned(case), best_of(case)
    mine = (undone, len(plan.moves), sum(m.memory_bytes for m in plan.moves) // GIB)
    theirs = (best.undone, best.moves, best.memory)
    # The space knows single moves only; a group may pass states that its own rule forbids.
    if any(move.as_one for move in plan.moves) and mine <= theirs:
        return ""
    assert mine >= theirs, ("better than the best", case, mine, best)
    words = ("undone", "moves", "memory")
    return next((word for word, a, b in zip(words, mine, theirs, strict=True) if a != b), "")
