"""YAML text: readable, quoted where readers differ, and read back unchanged."""

import pytest

from gitbot.documents import read_documents, write_document, write_documents
from gitbot.errors import Bug

WRITTEN = [
    ({"a": 1, "b": True, "c": None}, "a: 1\nb: true\nc: null\n"),
    ({"z": "x", "a": "y"}, "z: x\na: y\n"),
    ({"a": [1, {"b": "c", "d": []}], "e": {}}, "a:\n- 1\n- b: c\n  d: []\ne: {}\n"),
    ({"t": "22:00"}, 't: "22:00"\n'),
    ({"t": "2026-12-06T22:00:00Z"}, 't: "2026-12-06T22:00:00Z"\n'),
    ({"t": "no"}, 't: "no"\n'),
    ({"t": "null"}, 't: "null"\n'),
    ({"t": "010"}, 't: "010"\n'),
    ({"t": ""}, 't: ""\n'),
    ({"t": "two words"}, "t: two words\n"),
    ({"t": "# no comment"}, 't: "# no comment"\n'),
    ({"t": "a: b"}, 't: "a: b"\n'),
    ({"t": "line\nline\ttab"}, 't: "line\\nline\\ttab"\n'),
    ({"t": 'say "x" \\'}, 't: "say \\"x\\" \\\\"\n'),
    ({"t": "ünï 😀"}, 't: "ünï 😀"\n'),
    ({"yes": 1, "1": 2, "a b": 3}, '"yes": 1\n"1": 2\na b: 3\n'),
    ([], "[]\n"),
    ([["a"], [["b"]]], "- - a\n- - - b\n"),
    ("text", "text\n"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_written(value: object, text: str) -> None:
    assert write_document(value) == text
    (document,), findings = read_documents(text.encode(), "f")
    assert not findings
    assert document.value == value


def test_documents_are_separated() -> None:
    text = write_documents([{"a": 1}, {"b": 2}])
    assert text == "a: 1\n---\nb: 2\n"


@pytest.mark.parametrize("value", [{"a": 1.5}, {"a": "\x00"}, {1: "a"}, {"a": object()}])
def test_what_no_document_may_hold_is_a_bug(value: object) -> None:
    with pytest.raises(Bug, match=r"^BUG: YAML "):
        write_document(value)
