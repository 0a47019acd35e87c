"""Whatever people write, reports show it as text."""

import re
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitbot.reports import escape

NASTY = st.sampled_from(
    [
        "@alice",
        "#12",
        "GH-12",
        "acme/x#1",
        "https://evil.test/x",
        "www.evil.test",
        "a@b.test",
        "![x](http://evil.test/i.png)",
        "[x](javascript:alert(1))",
        "<img src=x onerror=alert(1)>",
        "<!--",
        "-->",
        "</details>",
        "|",
        "`",
        "```",
        "\n\n",
        "**",
        "__",
        "~~",
        "$x$",
        ":smile:",
        "deadbeefcafe",
        "&lt;",
        "&#64;bob",
        "\x1b[31m",
        "\u202e",
        "\u200b",
        "\\",
        '"]',
        "end",
        "click n0 href",
        "%%",
        ";",
        "1. ",
        "- ",
        "# ",
        "=1+1",
        "+cmd|' /C calc'!A0",
        "x" * 30,
    ]
)
TEXT = st.one_of(
    st.text(max_size=40), st.lists(NASTY | st.text(max_size=4), max_size=6).map("".join)
)
PARSER = MarkdownIt("gfm-like", {"linkify": True})
# GitHub links http://, www. and mail addresses (GFM 0.29, section 6.9), and no bare domain such as
# kubevirt.io; www. is among REFERENCES below.
assert PARSER.linkify is not None
PARSER.linkify.set({"fuzzy_link": False})
REFERENCES = re.compile(
    r"@\w|#\d|(?i:\bgh-\d)|:[\w+-]+:|(?<![0-9A-Za-z])(?=[0-9]*[a-f])[0-9a-f]{7,40}(?![0-9A-Za-z])|://|www\.\w"
)


def shown(markdown: str) -> str:
    """The text of the one cell; fails where anything but text is in it."""
    tokens = PARSER.parse(f"| a |\n|---|\n| x {markdown} y |\n")
    kinds = [token.type for token in tokens if token.type != "inline"]
    assert kinds.count("td_open") == 1, kinds
    assert kinds[-1] == "table_close", kinds
    (cell,) = [token for token in tokens if token.type == "inline" and token.content != "a"]
    children = cell.children or []
    assert {child.type for child in children} <= {"text"}, children
    return "".join(child.content for child in children)


@given(TEXT)
@example("0.GL")
@example("kubevirt.io")
def test_markdown_shows_the_text_and_nothing_but_text(text: str) -> None:
    visible = shown(escape.markdown(text))
    assert not REFERENCES.search(visible)
    expected = f"x {escape.plain(text).strip()} y"
    assert visible.replace("\u200b", "").split() == expected.split()


@given(TEXT)
def test_code_holds_the_text_and_nothing_but_code(text: str) -> None:
    tokens = PARSER.parse(f"| a |\n|---|\n| x {escape.code(text)} y |\n")
    (cell,) = [token for token in tokens if token.type == "inline" and token.content != "a"]
    kinds = {child.type for child in cell.children or []}
    assert kinds <= {"text", "code_inline", "html_inline"}
    html = [child.content for child in cell.children or [] if child.type == "html_inline"]
    assert html in ([], ["<code>", "</code>"])


@given(TEXT)
def test_html_is_one_text_node(text: str) -> None:
    element = ET.fromstring(f"<p title='{escape.html(text)}'>{escape.html(text)}</p>")
    assert list(element) == []
    assert element.text in {escape.lines(text), None}


@given(TEXT)
def test_mermaid_labels_cannot_end_or_hold_markup(text: str) -> None:
    assert re.fullmatch(r"(?:[0-9A-Za-z ._/,-]|#\d+;)*", escape.mermaid(text))


@given(TEXT)
def test_terminal_text_is_one_printable_line(text: str) -> None:
    made = escape.terminal(text)
    assert all(unicodedata.category(character)[0] != "C" for character in made)
    assert made.splitlines() in ([made], [])


@given(TEXT)
@example("=1+1")
@example("\t-1+1")
def test_no_cell_begins_a_formula(text: str) -> None:
    made = escape.cell(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert made.removeprefix("'") == escape.plain(text) or made == escape.plain(text)


@given(TEXT)
@example("[x](https://evil.test)")
def test_no_message_of_sarif_holds_a_link(text: str) -> None:
    assert "](" not in escape.sarif(text)


@pytest.mark.parametrize(
    "character",
    ["\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u2800", "\u3164", "\ufe0f", "\uffa0",
     "\U000e0100", "\u00ad", "\u200b"],
)  # fmt: skip
def test_a_character_that_shows_nothing_is_made_visible(character: str) -> None:
    assert escape.plain(f"db{character}1") == f"dbU+{ord(character):04X}1"
