"""What is left out of a text or a list, and how that is said."""

import pytest

from gitbot.model.text.wording import first_of, shortened


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", 3, ""),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("ab\ncd", 4, "ab\n…"),
    ],
)
def test_a_text_is_cut_to_its_limit(text: str, limit: int, expected: str) -> None:
    assert shortened(text, limit) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", 2], "a, 2"),
        (["a", "b", "c"], "a, b and 1 more"),
        (list("abcdef"), "a, b and 4 more"),
    ],
)
def test_the_first_items_of_a_list(items: list[object], expected: str) -> None:
    assert first_of(items, 2) == expected
