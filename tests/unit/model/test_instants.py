"""Intervals end before their end."""

import pytest

from gitbot.model.text.instants import Interval, intersect, subtract

OPEN = Interval(start=10, end=20)


@pytest.mark.parametrize(
    ("instant", "inside"), [(9, False), (10, True), (19, True), (20, False), (21, False)]
)
def test_the_end_is_outside(instant: int, inside: bool) -> None:
    assert OPEN.contains(instant) is inside


@pytest.mark.parametrize(
    ("start", "end", "both", "rest"),
    [
        (0, 10, [], [(10, 20)]),
        (0, 11, [(10, 11)], [(11, 20)]),
        (12, 15, [(12, 15)], [(10, 12), (15, 20)]),
        (19, 30, [(19, 20)], [(10, 19)]),
        (20, 30, [], [(10, 20)]),
        (0, 30, [(10, 20)], []),
    ],
)
def test_what_two_have_in_common_and_what_is_left(
    start: int, end: int, both: list[tuple[int, int]], rest: list[tuple[int, int]]
) -> None:
    other = (Interval(start=start, end=end),)
    assert [(item.start, item.end) for item in intersect((OPEN,), other)] == both
    assert [(item.start, item.end) for item in subtract((OPEN,), other)] == rest
