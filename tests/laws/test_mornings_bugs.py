"""Random mornings find bugs that are planted in planner, replay and words."""

import pytest

from tests.laws.mornings_bugs import BUGS, copied, faults_with
from tests.torture.seeded import ROOT, planted


def test_each_bug_can_be_planted() -> None:
    for each in BUGS:
        assert planted(each, ROOT / "gitbot")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_bug_is_found_on_its_morning() -> None:
    with copied() as folder:
        silent = [each.name for each in BUGS if not faults_with(each, folder, each.start, 1)]
    assert silent == []
