"""What the index finds for a selector is what judging every thing finds."""

import random
from typing import Any

import pytest

from gitbot.constraints.scheduler.label_index import LabelIndex
from gitbot.kubernetes.selectors import LabelMatcher

Thing = tuple[str, dict[str, str], int]


def things(draw: random.Random) -> list[Thing]:
    return [
        (
            draw.choice(["", "a", "b", "c"]),
            {key: draw.choice("xyz") for key in "kmn" if draw.random() < 0.6},
            number,
        )
        for number in range(draw.randrange(20))
    ]


def selector(draw: random.Random) -> dict[str, Any] | None:
    if draw.random() < 0.05:
        return None
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "unknown")
    expressions = [
        {"key": draw.choice("kmno"), "operator": operator, "values": draw.choices("xyz1", k=count)}
        for operator in draw.choices(operators, k=draw.randrange(3))
        for count in (0 if "Exist" in operator else draw.randrange(3),)
    ]
    labels = {key: draw.choice("xyz") for key in "km" if draw.random() < 0.4}
    return {"matchLabels": labels, "matchExpressions": expressions}


@pytest.mark.parametrize("seed", range(20))
def test_as_a_scan(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(100):
        held = things(draw)
        index = LabelIndex(held)
        for _ in range(10):
            wanted = LabelMatcher.of(selector(draw))
            spaces = draw.choice([None, ("a",), frozenset({"", "a", "d"}), frozenset[str]()])
            expected = [
                number
                for space, labels, number in held
                if (spaces is None or space in spaces) and wanted.matches(labels)
            ]
            assert sorted(index.matching(wanted, spaces)) == expected
