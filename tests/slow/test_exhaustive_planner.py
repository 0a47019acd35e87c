"""The planner against everything there is, on twelve thousand tiny problems."""

from collections.abc import Callable

import pytest

from tests.depth import some_at_merge
from tests.laws.tiny import Tiny, tiny
from tests.laws.tiny_scarce import scarce
from tests.laws.tiny_verdict import shortfall

FIRST = 1_000_000


@pytest.mark.parametrize("first", some_at_merge(range(FIRST, FIRST + 10_000, 1_000), 4))
def test_no_plan_is_better_where_any_vm_may_move(
    first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _worse(range(first, first + 1_000), tiny, capsys) == []


@pytest.mark.parametrize("first", some_at_merge(range(FIRST, FIRST + 2_000, 200), 4))
def test_no_plan_is_better_where_room_is_scarce(
    first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _worse(range(first, first + 200), scarce, capsys) == []


def _worse(
    seeds: range, case_of: Callable[[int], Tiny], capsys: pytest.CaptureFixture[str]
) -> list[tuple[int, str]]:
    """The seeds for which a better plan exists, and what it does better."""
    cases = ((seed, case_of(seed)) for seed in seeds)
    words = [(seed, shortfall(case)) for seed, case in cases]
    worse = [(seed, word) for seed, word in words if word]
    with capsys.disabled():
        best = len(seeds) - len(worse)
        print(f"\n{len(seeds)} tiny problems: the best plan for {best}; worse in {worse}")
    return worse
