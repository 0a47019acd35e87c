"""The reader: plain data with positions, every error of a file in one run."""

import pytest

from gitbot.documents import Budget, Position, read_documents


def found(data: bytes, budget: Budget | None = None) -> list[str]:
    _, findings = read_documents(data, "f", budget=budget or Budget())
    return [str(finding).removeprefix("f:") for finding in findings]


def test_plain_data_of_every_style() -> None:
    data = b"a: 1\nb: [x, 'y', \"z\"]\nc: {d: true, e: ~}\nf: |\n  line\n  line\ng: >-\n  a\n  b\n"
    (document,), findings = read_documents(data, "f")
    assert not findings
    assert document.value == {
        "a": 1,
        "b": ["x", "y", "z"],
        "c": {"d": True, "e": None},
        "f": "line\nline\n",
        "g": "a b",
    }
    assert (document.index, document.sound) == (1, True)


POSITIONS = [
    ((), "value", 2, 1),
    (("spec",), "key", 2, 1),
    (("spec",), "value", 3, 3),
    (("spec", "names"), "key", 3, 3),
    (("spec", "names", 1), "value", 3, 14),
    (("spec", "names", 1), "key", 3, 14),
    (("spec", "deep", "x"), "value", 4, 14),
    (("spec", "absent"), "value", 3, 3),
    (("spec", "absent"), "key", 2, 1),
    (("nowhere", "at", "all"), "key", 2, 1),
]


@pytest.mark.parametrize(("path", "what", "line", "column"), POSITIONS)
def test_positions(path: tuple[str | int, ...], what: str, line: int, column: int) -> None:
    data = "# ünder a comment 😀\nspec:\n  names: [a, b]\n  deep: {x: \ty}\n".encode()
    (document,), _ = read_documents(data, "f")
    place = getattr(document.positions, what)(path)
    assert place == Position(line=line, column=column)


def test_columns_count_characters_not_bytes() -> None:
    (finding,) = found("a: ['ü😀', 010]\n".encode())
    assert finding.startswith("1:11: a[1]: found 010, expected an integer in plain decimal")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark_change_no_position(end: bytes, mark: bytes) -> None:
    data = mark + end.join([b"a: 1", b"b: x", b"c: 22:00", b""])
    assert found(data) == [
        '3:4: c: found 22:00 unquoted, expected text in quotes; quote it: "22:00"'
    ]


def test_several_documents() -> None:
    documents, findings = read_documents(b"---\na: 1\n---\nb: 2\n...\n---\nc: 3\n", "f")
    assert not findings
    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [document.index for document in documents] == [1, 2, 3]


def test_after_a_syntax_error_reading_goes_on_at_the_next_document() -> None:
    documents, findings = read_documents(b"a: 1\n---\nb: [\n---\nc: {\n---\nd: 4\n", "f")
    assert [document.value for document in documents] == [{"a": 1}, {"d": 4}]
    assert [finding.line for finding in findings] == [3, 5]
    assert findings[0].message.startswith("document 2: found a bracket [")
    assert findings[1].message.startswith("document 3: found a brace {")


def test_a_refused_value_is_none_and_its_document_not_sound() -> None:
    (first, second), _ = read_documents(b"a: 010\n---\na: 10\n", "f")
    assert (first.value, first.sound, first.reported) == ({"a": None}, False, frozenset([("a",)]))
    assert (second.value, second.sound, second.reported) == ({"a": 10}, True, frozenset())


def test_a_refused_key_keeps_nothing_of_its_value_but_its_errors() -> None:
    (document,), findings = read_documents(b"a: {1: 010, b: 2, b: {c: no}}\n", "f")
    assert document.value == {"a": {"b": 2}}
    assert document.positions.value(("a", "b")) == Position(line=1, column=16)
    assert [finding.code for finding in findings] == [
        "documents/key",
        "documents/integer",
        "documents/duplicate-key",
        "documents/boolean-word",
    ]
    assert document.holes == {("a",)}


BUDGETS = [
    (b"a: 1\n" * 10, Budget(bytes=12), "3:3: found a file of 50 bytes, expected at most 12"),
    (b"a: {b: {c: d}}\n", Budget(depth=3), "1:12: a.b.c: found more than 3 levels"),
    (b"a: [1, 2, 3]\n", Budget(nodes=4), "1:8: a[1]: found more than 4 nodes"),
    (b"a: '12345'\n", Budget(scalar=4), "1:4: a: found a scalar of 5 characters"),
    (b"12345: a\n", Budget(scalar=4), "1:1: found a scalar of 5 characters"),
    (b"a: text\nb: [c]\n", Budget(scalar=3), "1:4: a: found a scalar of 4 characters"),
    (b"a: text\nb:\n- c: d\n", Budget(nodes=7), "3:6: b[0].c: found more than 7 nodes"),
    (b"# comment only " + b"x" * 40, Budget(bytes=20), "1:1: found a file of 55 bytes"),
    (b"a: 'unclosed " + b"x" * 40, Budget(bytes=20), "1:4: found a file of 53 bytes"),
]


@pytest.mark.parametrize(("data", "budget", "begins"), BUDGETS)
def test_budgets_run_out_at_the_node(data: bytes, budget: Budget, begins: str) -> None:
    assert found(data, budget)[0].startswith(begins)


@pytest.mark.parametrize(
    ("data", "budget"),
    [
        (b"a: {b: {c: d}}\n", Budget(depth=4)),
        (b"a: [1, 2]\n", Budget(nodes=5)),
        (b"a: '1234'\n", Budget(scalar=4)),
        (b"a: text\nb:\n- c: d\n", Budget(nodes=8)),
        (b"a: 1\n", Budget(bytes=5)),
    ],
)
def test_within_budget_nothing_is_said(data: bytes, budget: Budget) -> None:
    assert found(data, budget) == []


def test_a_file_of_broken_documents_is_not_read_to_its_end() -> None:
    """Each looks at the rest of the file: 4,000 of them before a long comment took 6 seconds."""
    assert len(found(b"---\n[\n" * 100_000 + b"#" * 300_000)) == 100
    assert len(found(b"---\n[\n" * 99 + b"---\na: b\n")) == 99


CHARACTERS = [
    ("a: \x7f\n", "1:4: a: found the control character U+007F in the value"),
    ("# \x07 bell\na: 1\n", "1:3: found the control character U+0007, expected none in the file"),
    ("a: 'x\u0085y'\n", "1:4: a: found the line break U+0085 in the value"),
    ('a: "\\u2028"\n', None),
    ('a: "\\x85"\n', "1:4: a: found the line break U+0085 in the value"),
    ('a: "tab\\tand\\nline"\n', None),
    ('a: "\\r"\n', "1:4: a: found a carriage return without line feed in the value"),
    ("a\u202e: 1\n", '1:1: ["a\\u202e"]: found the bidi control U+202E in the key'),
    ("a: b\ufeff\n", "1:4: a: found a byte order mark inside the file (U+FEFF) in the value"),
    ("# \u202e in a comment\na: 1\n", None),
]


@pytest.mark.parametrize(("text", "begins"), CHARACTERS)
def test_characters(text: str, begins: str | None) -> None:
    findings = found(text.encode())
    if begins is None:
        assert findings == []
    else:
        assert len(findings) == 1
        assert findings[0].startswith(begins)


def test_no_break_spaces_are_one_error_and_inside_quotes_none() -> None:
    assert found("a:\n\u00a0\u00a0b: 1\n\u3000 c: 2\n".encode()) == [
        "2:1: found U+00A0 as indentation, expected spaces; replace it with spaces",
        "3:1: found U+3000 as indentation, expected spaces; replace it with spaces",
    ]
    assert found("a: |\n  x\n  \u00a0y\nb: 'x\n\n  \u00a0z'\n".encode()) == []


ENCODINGS = [
    ("a: ü\n".encode("latin-1"), "1:4: found the byte 0xfc, which is not UTF-8, expected UTF-8"),
    ("x: 1\na: ü".encode()[:-1], "2:4: found a file that ends inside a character, expected UTF-8"),
    ("a: 1".encode("utf-16-be"), "1:1: found UTF-16 text, expected UTF-8"),
    ("a: 1".encode("utf-16-le"), "1:1: found UTF-16 text, expected UTF-8"),
    ("a: 1".encode("utf-16"), "1:1: found UTF-16 text, expected UTF-8"),
    ("a: 1".encode("utf-32"), "1:1: found UTF-32 text, expected UTF-8"),
    ("a: 1".encode("utf-32-le"), "1:1: found UTF-32 text, expected UTF-8"),
    ("a: 1".encode("utf-32-be"), "1:1: found UTF-32 text, expected UTF-8"),
    ("\ufeffa: 1".encode("utf-32-be"), "1:1: found UTF-32 text, expected UTF-8"),
]


@pytest.mark.parametrize(("data", "begins"), ENCODINGS)
def test_encodings(data: bytes, begins: str) -> None:
    (finding,) = found(data)
    assert finding.startswith(begins)


SYNTAX = [
    (b"a: b: c\n", "1:5: found a colon that cannot stand here"),
    (b"a: 1\n b: 2\n", "2:3: found a colon that cannot stand here"),
    (b"- a\nb: 2\n", "2:1: found something that is not a list item"),
    (b"a:\n- b\n c: d\n", "3:3: found a colon that cannot stand here"),
    (b"a: [b, c:]\n", "1:9: found a colon that cannot stand here"),
    (b"a: [b\nc: {d\n", "1:4: found a bracket [ that is never closed"),
    (b"a: {b: [c, {d: e}, f\n---\n", "1:8: found a bracket [ that is never closed"),
    (b"a: 'b' c\n", "1:8: found something that is not a key"),
    (b"a: 1\nb\nc: 2\n", "2:1: found text without a colon"),
    (b"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n", "2:1: found <<<<<<<, which Git"),
    (b"a:\r\n  b: 1\r\n=======\r\n  c: 3\r\n", "3:1: found =======, which Git"),
    (b"a:\n  b: 1\n||||||| 5a1b2c3\n  c: 3\n", "3:1: found |||||||, which Git"),
    (b"a: |\n  <<<<<<< HEAD\nb\nc: 2\n", "3:1: found text without a colon"),
    (b"a: %x\n", "1:4: found % unquoted at the beginning of a value"),
    (b"a: `x`\n", "1:4: found ` unquoted at the beginning of a value"),
    (b"a: &\n", "1:4: found & unquoted, which begins an anchor"),
    (b'a: "\\q"\n', "1:5: found an unknown escape after \\"),
    (b"{a: 1}}\n", "1:7: found text after the end of the document"),
    (b"%FOO x\n---\na: 1\n", "1:1: found a directive"),
    (b"a: !<x y\n", "1:4: found a tag that cannot be read"),
    (b"a: |x\n b\n", "1:5: found "),
]


@pytest.mark.parametrize(("data", "begins"), SYNTAX)
def test_syntax_errors_have_words_and_a_place(data: bytes, begins: str) -> None:
    findings = found(data)
    assert findings[0].startswith(begins), findings
    assert all(", expected " in finding for finding in findings)


@pytest.mark.parametrize(
    "text", ["a: &x [b]\nc: !!t {d: e}\n", "a: [b: c, ? d: e, {f: g}, [h]]\n", "[[{a: b}]]\n"]
)
def test_brackets_of_every_sort_are_closed(text: str) -> None:
    documents, findings = read_documents(text.encode(), "f")
    assert len(documents) == 1
    assert {finding.code for finding in findings} <= {"documents/anchor", "documents/tag"}


KEYS = [
    (b"&a b: 1\n*a : 2\n", ["1:1: found an anchor (&)", "2:1: found an alias (*) as key"]),
    (b"!!str b: 1\n", ["1:1: found the tag !!str, expected none"]),
    (b"? {a: [b]}\n: c\n", ["1:3: found a mapping as key, expected text"]),
    (b"x: {? [a, [b]] : c}\n", ["1:7: x: found a list as key, expected text"]),
    (b"{: c}\n", ["1:2: found something that is not a value, expected a value"]),
    (b"? \n: c\n", ["1:2: found the key nothing, expected text; write a key before the colon"]),
    (b"true: c\n", ['1:1: found the key true, expected text; quote it: "true"']),
    (b"22:00: c\n", ['1:1: found the key 22:00 unquoted, expected text; quote it: "22:00"']),
    (b"<<: {a: 010}\n", ["1:1: found a merge key (<<)", '1:9: ["<<"].a: found 010']),
]


@pytest.mark.parametrize(("data", "begins"), KEYS)
def test_keys_are_plain_text(data: bytes, begins: list[str]) -> None:
    findings = found(data)
    assert len(findings) == len(begins), findings
    for finding, begin in zip(findings, begins, strict=True):
        assert finding.startswith(begin)
