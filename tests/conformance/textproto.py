"""Protocol buffers' text format, as far as files of test cases use it: messages to plain data.

A message is a map of lists, because any field may stand there more than once.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, list[Any]]
_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*
    | (?P<text> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<any> \[ [\w.\-]+ / [\w.\-/]+ \] | \[ [A-Za-z_][\w.]* \] (?=\s*[:{]) )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<number> -?\s*(?: 0[xX][0-9a-fA-F]+ | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]? ) )
    | (?P<mark> [-{}<>\[\]:;,] )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))"
)
_PLAIN = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13}


@dataclass(frozen=True, slots=True)
class Word:
    """A name that is a value: `true`, `inf`, `NULL_VALUE`."""

    name: str


def read_textproto(text: str) -> Message:
    """The fields of a file. Raises ValueError at what is not text format.

    Texts come as bytes, numbers as int or float.
    """
    tokens = list(_tokens(text))
    message, at = _message(tokens, 0, "")
    if at != len(tokens):
        raise ValueError(f"found {tokens[at][1]!r}, expected the end")
    return message


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line}: found {text[at : at + 20]!r}, expected a field")
        if found.lastgroup is not None:
            yield found.lastgroup, found.group(found.lastgroup)
        at = found.end()


def _message(tokens: list[tuple[str, str]], at: int, end: str) -> tuple[Message, int]:
    fields: dict[str, list[Any]] = {}
    while at < len(tokens) and tokens[at][1] != end:
        kind, name = tokens[at]
        if kind not in ("word", "any"):
            raise ValueError(f"found {name!r}, expected the name of a field")
        at += 1
        if tokens[at][1] == ":":
            at += 1
        values, at = _values(tokens, at)
        fields.setdefault(name.strip("[] "), []).extend(values)
        if at < len(tokens) and tokens[at][1] in (",", ";"):
            at += 1
    return fields, at


def _values(tokens: list[tuple[str, str]], at: int) -> tuple[list[Any], int]:
    if tokens[at][1] != "[":
        value, at = _value(tokens, at)
        return [value], at
    values, at = [], at + 1
    while tokens[at][1] != "]":
        value, at = _value(tokens, at)
        values.append(value)
        at += tokens[at][1] == ","
    return values, at + 1


def _value(tokens: list[tuple[str, str]], at: int) -> tuple[Any, int]:
    kind, text = tokens[at]
    if text in ("{", "<"):
        message, at = _message(tokens, at + 1, "}" if text == "{" else ">")
        return message, at + 1
    if kind == "text":
        said = b""
        while at < len(tokens) and tokens[at][0] == "text":
            said += _unescaped(tokens[at][1][1:-1])
            at += 1
        return said, at
    if kind == "number":
        return _number(text), at + 1
    if text == "-":
        return Word(f"-{tokens[at + 1][1]}"), at + 2
    if kind == "word":
        return Word(text), at + 1
    raise ValueError(f"found {text!r}, expected a value")


def _number(text: str) -> int | float:
    text = re.sub(r"\s", "", text)
    try:
        return int(text, 0) if re.fullmatch("-?0[xX].*", text) else int(text)
    except ValueError:
        return float(text.rstrip("fF"))


def _unescaped(text: str) -> bytes:
    def one(found: re.Match[bytes]) -> bytes:
        wide, octal, *code, other = found.groups()
        if wide or octal:
            return bytes([int(wide, 16) if wide else int(octal, 8)])
        if point := code[0] or code[1]:
            return chr(int(point, 16)).encode()
        return bytes([_PLAIN[other]]) if other in _PLAIN else bytes(other)

    return _ESCAPE.sub(one, text.encode())
