"""Every bug that is planted is found; and each can be planted at all."""

import ast
from collections import Counter

import pytest

from tests.torture.bugs import BUGS, FIRST_SEEDS
from tests.torture.seeded import ROOT, hunt, planted

PARTS = 4


def test_every_bug_can_be_planted() -> None:
    assert [name for name, count in Counter(bug.name for bug in BUGS).items() if count > 1] == []
    assert len(BUGS) >= 60
    assert set(FIRST_SEEDS) <= {bug.name for bug in BUGS if not bug.tests}
    for bug in BUGS:
        for text in planted(bug, ROOT / "gitbot").values():
            ast.parse(text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_bug_is_found(part: int) -> None:
    assert [found.bug.name for found in hunt(BUGS[part::PARTS]) if not found.by] == []
