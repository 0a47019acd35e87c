"""What is too long for GitHub is cut so that nothing stays open."""

import pytest

from gitbot.reports.truncate import cut_markdown

END = "\n\n_Cut here._"
LINES = "x: 1\n" * 400


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("a\n" * 1000, "a" + END),
        (f"```yaml\n{LINES}```\n", "x: 1\n```" + END),
        (f"~~~~ yaml\n```\n{LINES}~~~~\n", "x: 1\n~~~~" + END),
        (f"```\na\n```\n{LINES}", "x: 1" + END),
        (f"````\n```\n{LINES}", "x: 1\n````" + END),
        (f"``` a ` b\n{LINES}", "x: 1" + END),  # no fence: a backtick stands behind it
        (f"<details><summary>a</summary>\n\n```\n{LINES}", "x: 1\n```\n</details>" + END),
        (f"<details>\n</details>\n{LINES}", "x: 1" + END),
        (f"```\n<details>\n```\n{LINES}", "x: 1" + END),
        ("```\n" + "y" * 20_000, "y\n```" + END),
        (f"a\n{'`' * 500}\n{LINES}", "a\n" + END),
    ],
)
def test_what_is_open_is_closed(text: str, last: str) -> None:
    cut = cut_markdown(text, 1000, END)
    assert cut.endswith(last)
    assert len(cut) <= 1000


def test_what_fits_is_left_as_it_is() -> None:
    assert cut_markdown("```\n", 4, END) == "```\n"


def test_a_thousand_open_details_do_not_make_it_longer() -> None:
    assert len(cut_markdown("<details>\n" * 1000, 1000, END)) <= 1000
