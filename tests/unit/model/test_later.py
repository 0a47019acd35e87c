"""Values of which a part is made when it is first asked for."""

from dataclasses import dataclass

import pytest

from gitbot.model.lazy_fields import LazyFields, with_later


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(LazyFields):
    left: int
    right: str = ""


def test_a_field_is_made_once_and_when_it_is_asked_for() -> None:
    asked: list[str] = []

    def make() -> str:
        asked.append("right")
        return "made"

    pair = with_later(Pair(left=1), right=make)
    assert pair.left == 1
    assert asked == []
    assert (pair.right, pair.right) == ("made", "made")
    assert asked == ["right"]


def test_what_no_field_is_called_is_no_attribute() -> None:
    pair = with_later(Pair(left=1), right=str)
    with pytest.raises(AttributeError, match="a Pair has no middle"):
        _ = pair.middle  # type: ignore[attr-defined]
