"""A plan of a tiny problem beside the best there is, where any VM may move."""

from __future__ import annotations

from gitbot.planner import make_plan
from tests.laws.tiny import Tiny, problem_of
from tests.laws.tiny_brute import Brute
from tests.laws.tiny_space import Space

GIB = 1024**3


def shortfall(case: Tiny, space: Space) -> str:
    """What a better plan does better: `undone`, `moves` or `memory`; "" if there is none.

    AssertionError if the plan breaks the law in any order of completion, or does more than can be.
    """
    plan = make_plan(problem_of(case))
    end = Brute(case, own=space.own).walk(plan)
    best = space.best()
    mine = (
        int(space.undone()[end]),
        len(plan.moves),
        sum(m.memory_bytes for m in plan.moves) // GIB,
    )
    theirs = (best.undone, best.moves, best.memory)
    assert mine >= theirs, ("better than the best", case, mine, best)
    words = ("undone", "moves", "memory")
    return next((word for word, a, b in zip(words, mine, theirs, strict=True) if a != b), "")
