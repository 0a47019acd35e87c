"""The short way through a file: YAML in its plainest form, read line by line without a parser.

Nearly every intent is written in a small part of YAML: block mappings and lists, text on one line,
quotes without escapes, short flow collections. Such a file is read here in a tenth of the time, to
the very same documents; where anything else turns up, `None` sends the file the long way
(`reader`), which is also where every finding comes from. Positions are taken the long way too,
when the first of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from gitbot.documents.document import BudgetLike, Document
from gitbot.documents.positions import Path, Position, Positions
from gitbot.documents.scalars import Refused, resolve

V = TypeVar("V")

_TEXT = re.compile(r"[\n\x20-\x7e\u00c0-\u024f]+")
_LINE = re.compile(
    r"(?P<indent> *)(?P<dash>- )?"
    r"(?:(?P<key>[A-Za-z_][A-Za-z0-9_./-]*):(?: (?P<value>[^ ].*))?|(?P<item>[^ ].*))"
)
_PLAIN = re.compile(r"(?:-(?=[0-9])|[A-Za-z0-9_./+])(?:[^\n:#]|:(?=[^ \n])|(?<=[^ ])#)*")
_QUOTED = re.compile(r"\"([^\"\\\n]*)\"|'([^'\n]*)'")
_FLOW = re.compile(
    r" *(?:(?P<mark>[][{},])|(?P<quoted>\"[^\"\\]*\"|'[^']*')|"
    r"(?P<key>[A-Za-z_][A-Za-z0-9_./-]*): +|(?P<plain>-?[A-Za-z0-9_.][A-Za-z0-9_./+=-]*)(?=[],} ]))"
)
_MOST_FLOW = 4  # levels of brackets

_Line = tuple[int, bool, str | None, Any]  # indent, begins an item, key, value


class _NotPlain(Exception):
    """The file is to be read the long way."""


_NOTHING = object()  # in the place of a value: it stands in the lines below


def read_plain(
    text: str, budget: BudgetLike, long_way: Callable[[], tuple[Document, ...]]
) -> tuple[Document, ...] | None:
    """The documents of a file in plain form; None where the long way is needed.

    `long_way` gives the same documents with their positions.
    """
    if _TEXT.fullmatch(text) is None:
        return None
    try:
        return tuple(_documents(text, budget, long_way))
    except _NotPlain:
        return None


def _documents(
    text: str, budget: BudgetLike, long_way: Callable[[], tuple[Document, ...]]
) -> Iterator[Document]:
    blocks = _blocks(text)
    reading = _Blocks(budget)
    places = _Places(long_way)
    for number, (lines, numbers) in enumerate(blocks):
        value = reading.document(lines)
        yield Document(
            index=number + 1, value=value, positions=places.later(number, lines, numbers)
        )


def _blocks(text: str) -> list[tuple[list[_Line], list[int]]]:
    """The lines of each document with their numbers, comments and blank lines left out."""
    blocks: list[tuple[list[_Line], list[int]]] = [([], [])]
    marked = False  # whether the last block began with ---
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.lstrip(" ")
        if not stripped or stripped[0] == "#":
            continue
        if line == "---":
            if blocks[-1][0]:
                blocks.append(([], []))
            elif marked:
                raise _NotPlain
            marked = True
            continue
        lines, numbers = blocks[-1]
        lines.append(_line(line))
        numbers.append(number)
    if not blocks[-1][0]:
        raise _NotPlain
    return blocks


_known: dict[str, _Line] = {}
_MOST_KNOWN = 4096


def _line(line: str) -> _Line:
    found = _known.get(line)
    if found is None:
        found = _read_line(line)
        if not isinstance(found[3], dict | list):  # those are made anew for each document
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[line] = found
    return found


def _read_line(line: str) -> _Line:
    match = _LINE.fullmatch(line)
    if match is None or line[-1] == " ":
        raise _NotPlain
    indent, dash, key, value, item = match.groups()
    if key is None and dash is None:
        raise _NotPlain
    if key is not None and not isinstance(resolve(key), str):
        raise _NotPlain
    written = value if key is not None else item
    return (
        len(indent),
        dash is not None,
        key,
        _NOTHING if written is None else _value(written),
    )


def _value(written: str) -> Any:
    if written[0] in "[{":
        return _flow(written)
    quoted = _QUOTED.fullmatch(written)
    if quoted is not None:
        return quoted[1] if quoted[1] is not None else quoted[2]
    if _PLAIN.fullmatch(written) is None:
        raise _NotPlain
    return _resolved(written)


def _resolved(written: str) -> Any:
    meaning = resolve(written)
    if isinstance(meaning, Refused) or meaning is None:
        raise _NotPlain
    return meaning


class _Blocks:
    """Lines to values, by their indentation; counts what the budget counts."""

    def __init__(self, budget: BudgetLike) -> None:
        self._budget = budget
        self._nodes = 0
        self._lines: list[_Line] = []

    def document(self, lines: list[_Line]) -> dict[str, Any]:
        """The value of one document."""
        self._lines = lines
        if lines[0][0] or lines[0][1]:
            raise _NotPlain
        self._nodes += 1
        value, end = self._mapping(0, 0, 1)
        if end != len(lines):
            raise _NotPlain
        return value

    def _mapping(
        self, at: int, indent: int, depth: int, *, first: bool = False
    ) -> tuple[dict[str, Any], int]:
        """The mapping that begins at a line; `first`: that line is the item of a list."""
        value: dict[str, Any] = {}
        lines = self._lines
        while at < len(lines):
            column, dash, key, written = lines[at]
            if first:
                column, dash, first = column + 2, False, False
            if column != indent or dash:
                break
            if key is None or key in value:
                raise _NotPlain
            at += 1
            self._nodes += 1
            if written is _NOTHING:
                value[key], at = self._below(at, indent, depth + 1)
            else:
                value[key] = self._counted(written, depth + 1)
        return value, at

    def _below(self, at: int, indent: int, depth: int) -> tuple[Any, int]:
        """The value that stands in the lines below its key."""
        if at == len(self._lines):
            raise _NotPlain
        column, dash, _, _ = self._lines[at]
        if column > indent or (dash and column == indent):
            self._counted("", depth)
            if dash:
                return self._sequence(at, column, depth)
            return self._mapping(at, column, depth)
        raise _NotPlain

    def _sequence(self, at: int, indent: int, depth: int) -> tuple[list[Any], int]:
        value: list[Any] = []
        lines = self._lines
        while at < len(lines):
            column, dash, key, written = lines[at]
            if column != indent or not dash:
                break
            if key is None:
                value.append(self._counted(written, depth + 1))
                at += 1
            else:
                self._counted("", depth + 1)
                item, at = self._mapping(at, indent + 2, depth + 1, first=True)
                value.append(item)
        return value, at

    def _counted(self, value: Any, depth: int) -> Any:
        """Count a node, and those inside a flow collection."""
        self._nodes += 1
        if depth > self._budget.depth or self._nodes > self._budget.nodes:
            raise _NotPlain
        if isinstance(value, dict):
            self._nodes += len(value)
            for item in value.values():
                self._counted(item, depth + 1)
        elif isinstance(value, list):
            for item in value:
                self._counted(item, depth + 1)
        elif isinstance(value, str) and len(value) > self._budget.scalar:
            raise _NotPlain
        return value


def _flow(written: str) -> Any:
    """A flow collection that ends with its line."""
    tokens = _tokens(written)
    value = _flow_value(next(tokens), tokens, 1)
    if next(tokens, None) is not None:
        raise _NotPlain
    return value


_Token = tuple[str, str]


def _tokens(written: str) -> Iterator[_Token]:
    at = 0
    while at < len(written):
        match = _FLOW.match(written, at)
        if match is None or match.lastgroup is None:
            raise _NotPlain
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()


def _flow_value(token: _Token, tokens: Iterator[_Token], depth: int) -> Any:
    sort, text = token
    if sort == "quoted":
        return text[1:-1]
    if sort == "plain":
        return _resolved(text)
    if sort != "mark" or text not in "[{" or depth > _MOST_FLOW:
        raise _NotPlain
    return _flow_list(tokens, depth) if text == "[" else _flow_mapping(tokens, depth)


def _flow_list(tokens: Iterator[_Token], depth: int) -> list[Any]:
    value: list[Any] = []
    token = _next(tokens)
    while token != ("mark", "]"):
        value.append(_flow_value(token, tokens, depth + 1))
        token = _next(tokens)
        if token == ("mark", ","):
            token = _next(tokens)
            if token[0] == "mark" and token[1] in "],}":
                raise _NotPlain
        elif token != ("mark", "]"):
            raise _NotPlain
    return value


def _flow_mapping(tokens: Iterator[_Token], depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    token = _next(tokens)
    while token != ("mark", "}"):
        sort, key = token
        if sort != "key" or key in value or not isinstance(resolve(key), str):
            raise _NotPlain
        value[key] = _flow_value(_next(tokens), tokens, depth + 1)
        token = _next(tokens)
        if token == ("mark", ","):
            token = _next(tokens)
            if token[0] == "mark":
                raise _NotPlain
        elif token != ("mark", "}"):
            raise _NotPlain
    return value


def _next(tokens: Iterator[_Token]) -> _Token:
    token = next(tokens, None)
    if token is None:
        raise _NotPlain
    return token


class _Places:
    """The positions of a file's documents, taken once, the long way."""

    def __init__(self, long_way: Callable[[], tuple[Document, ...]]) -> None:
        self._long_way = long_way
        self._read: tuple[Document, ...] | None = None

    def later(self, number: int, lines: list[_Line], numbers: list[int]) -> Positions:
        """The positions of one document; those of its first level are known at once."""
        keys: dict[Path, Position] = {
            (line[2],): Position(line=at, column=1)
            for line, at in zip(lines, numbers, strict=True)
            if line[0] == 0 and line[2] is not None
        }
        root: dict[Path, Position] = {(): Position(line=numbers[0], column=1)}
        return Positions(
            values=_Later(lambda: self._of(number).values, root),
            keys=_Later(lambda: self._of(number).keys, keys),
            scalars=_Later(lambda: self._of(number).scalars, {}),
        )

    def _of(self, number: int) -> Positions:
        if self._read is None:
            self._read = self._long_way()
        return self._read[number].positions


class _Later(Mapping[Path, V]):
    """A mapping of which a few entries are known and the rest is made when it is asked for."""

    __slots__ = ("_known", "_make", "_whole")

    def __init__(self, make: Callable[[], Mapping[Path, V]], known: Mapping[Path, V]) -> None:
        self._make = make
        self._known = known
        self._whole: Mapping[Path, V] | None = None

    def _all(self) -> Mapping[Path, V]:
        if self._whole is None:
            self._whole = self._make()
        return self._whole

    def __getitem__(self, path: Path) -> V:
        found = self._known.get(path)
        return self._all()[path] if found is None else found

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, path: object) -> bool:
        return path in self._known or path in self._all()
