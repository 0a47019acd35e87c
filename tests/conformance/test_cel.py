from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.cel import asked, cases
from tests.conformance.textproto import Word, read_textproto

FILE = r"""
# proto-message: cel.expr.conformance.test.SimpleTestFile
name: "own"
section {
  name: "right"
  test { name: "sum" expr: "1 + x" type_env: { name: "x", ident: { type: { primitive: INT64 } } }
         bindings: { key: "x" value: { value: { int64_value: 2 } } } value: { int64_value: 3 } }
  test: { name: "nan" expr: "0.0 / 0.0" value { double_value: nan } }
  test { name: "bytes" expr: "b'\303\277' + b'\\x00'" value: { bytes_value: "\303\277\000" } }
  test { name: "map" expr: "{'a': [1, null]}"
         value: { map_value { entries { key { string_value: "a" } value { list_value {
           values { int64_value: 1 } values { null_value: NULL_VALUE } } } } } } }
  test { name: "none" expr: "1 / 0" eval_error: { errors: { message: "divide by zero" } } }
  test { name: "type" expr: "type(x)" bindings: { key: "x" value: { value: { object_value: {
         [type.googleapis.com/google.protobuf.Duration] { seconds: 1, nanos: 500000000 } } } } }
         value: { type_value: "google.protobuf.Duration" } }
}
section {
  name: "other"
  test { name: "one" expr: "1 + 1" value: { int64_value: 3 } }
  test { name: "kind" expr: "1" value: { double_value: 1 } }
  test { name: "answer" expr: "1" eval_error: {} }
  test { name: "message" expr: "TestAllTypes{single_int64: 1}" value: { int64_value: 3 } }
  test { name: "unchecked" expr: "true || nope" disable_check: true value: { bool_value: true } }
}
"""


def test_cases_agree_differ_or_do_not_apply(tmp_path: Path) -> None:
    (tmp_path / "own.textproto").write_text(FILE, encoding="utf-8")
    ((name, found),) = cases(tmp_path)
    outcome = asked(found)
    assert name == "own"
    assert outcome.agree == 6, outcome.wrong
    assert outcome.wrong == [
        "own/other/one: 1 + 1: found 2, expected 3",
        "own/other/kind: 1: found 1, expected 1.0",
        "own/other/answer: 1: found 1, expected 'no answer'",
    ]
    assert outcome.left_out == Counter(
        {
            "protocol buffers and their namespaces": 1,
            "what only an expression that is not checked before it runs can give": 1,
        }
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 'x' \"y\"", {"a": [b"xy"]}),
        (r"a: '\x41\101\u00e9\n\''", {"a": ["AAé\n'".encode()]}),
        ("a: [1, -2, 0x10] a: 1.5e3", {"a": [1, -2, 16, 1500.0]}),
        ("a: -inf; b: true", {"a": [Word("-inf")], "b": [Word("true")]}),
        ("a < b: 1 > [x.y/z.T] { }", {"a": [{"b": [1]}], "x.y/z.T": [{}]}),
    ],
)
def test_text_format_is_read(text: str, message: object) -> None:
    assert read_textproto(text) == message


@pytest.mark.parametrize("text", ["a: ?", "1: 2", "a { b: 1 }}", "a: }"])
def test_what_is_not_text_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        read_textproto(text)
