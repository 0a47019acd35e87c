"""The planner against everything there is, on ten thousand tiny problems."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.laws.tiny import tiny
from tests.laws.tiny_brute import compare

CASES = 10_000
FIRST = 1_000_000


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_ten_thousand_tiny_problems(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    missed = []
    for seed in range(FIRST, FIRST + CASES):
        result = compare(tiny(seed))
        counts["fewest"] += result.fewest
        counts["lightest of those"] += result.lightest and result.least_moves > 0
        counts["with moves"] += result.least_moves > 0
        counts["fewest of those"] += result.fewest and result.least_moves > 0
        if not result.as_much_as_can_be:
            missed.append((seed, result.undone, result.least_undone))
    with capsys.disabled():
        print(
            f"\n{CASES} tiny problems, {counts['with moves']} with moves:"
            f" fewest moves in {100 * counts['fewest'] / CASES:.2f} %,"
            f" of those with moves {100 * counts['fewest of those'] / counts['with moves']:.2f} %,"
            f" least memory too {100 * counts['lightest of those'] / counts['with moves']:.2f} %,"
            f" called impossible though a plan exists: {len(missed)}"
        )
    assert missed == []
    assert counts["fewest of those"] >= 0.95 * counts["with moves"]
