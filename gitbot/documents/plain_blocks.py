"""The short way through a file: YAML in its plainest form, read line by line without a parser.

Nearly every intent is written in a small part of YAML: block mappings and lists, text on one line,
quotes without escapes, short flow collections. Such a file is read here in a tenth of the time, to
the very same documents; where anything else turns up, `None` sends the file the long way
(`reader`), which is also where every finding comes from. Positions are taken the long way too,
when the first of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any

from gitbot.documents.document import BudgetLike, Document
from gitbot.documents.positions import Positions
from gitbot.documents.scalars import Refused, resolve
from gitbot.model.later import made_later

_TEXT = re.compile(r"[\n\x20-\x7e\u00c0-\u024f]+").fullmatch
_LINE = re.compile(
    r"(?P<indent> *)(?P<dash>- )?"
    r"(?:(?P<key>[A-Za-z_][A-Za-z0-9_./-]*):(?: (?P<value>[^ ].*))?|(?P<item>[^ ].*))"
).fullmatch
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*").fullmatch
_WORDS = re.compile(r"\[[A-Za-z][A-Za-z0-9_./-]*(?:, [A-Za-z][A-Za-z0-9_./-]*)*\]").fullmatch
_PLAIN = re.compile(r"(?:-(?=[0-9])|[A-Za-z0-9_./+])(?:[^\n:#]|:(?=[^ \n])|(?<=[^ ])#)*").fullmatch
_QUOTED = re.compile(r"\"([^\"\\\n]*)\"|'([^'\n]*)'").fullmatch
_FLOW = re.compile(
    r" *(?:(?P<mark>[][{},])|(?P<quoted>\"[^\"\\]*\"|'[^']*')|"
    r"(?P<key>[A-Za-z_][A-Za-z0-9_./-]*): +|(?P<plain>-?[A-Za-z0-9_.][A-Za-z0-9_./+=-]*)(?=[],} ]))"
).match
_MOST_FLOW = 4  # levels of brackets

_Line = tuple[int, bool, str | None, Any, int]  # indent, begins an item, key, value, nodes
# After the last line of a document, for a line without text, and for ---: in no column.
_END: _Line = (-1, False, None, None, 0)
_column_of, _nodes_of = itemgetter(0), itemgetter(4)
_BLANK: _Line = (-2, False, None, None, 0)
_MARK: _Line = (-3, False, None, None, 0)


class _NotPlain(Exception):
    """The file is to be read the long way."""


_NOTHING = object()  # in the place of a value: it stands in the lines below


def read_plain(
    text: str, budget: BudgetLike, long_way: Callable[[], tuple[Document, ...]]
) -> tuple[Document, ...] | None:
    """The documents of a file in plain form; None where the long way is needed.

    `long_way` gives the same documents with their positions.
    """
    if _TEXT(text) is None:
        return None
    try:
        blocks = _blocks(text)
        if not _within(budget, text, blocks):
            return None
        places = _Places(long_way)
        return tuple(
            Document(
                index=number + 1,
                value=_value_of(lines),
                positions=places.later(number),
                line=first,
                filled=True,
            )
            for number, (lines, first) in enumerate(blocks)
        )
    except _NotPlain:
        return None


def _blocks(text: str) -> list[tuple[list[_Line], int]]:
    """The lines of each document and the number of its first, comments and blanks left out."""
    known = _known.get
    every = [known(line) or _line(line) for line in text.removesuffix("\n").split("\n")]
    if min(map(_column_of, every)) >= 0:
        return [(every, 1)]
    lines: list[_Line] = []
    blocks = [(lines, 0)]
    marked = False  # whether the last block began with ---
    for number, line in enumerate(every, 1):
        if line is _BLANK:
            continue
        if line is _MARK:
            if lines:
                lines = []
                blocks.append((lines, 0))
            elif marked:
                raise _NotPlain
            marked = True
            continue
        if not lines:
            blocks[-1] = (lines, number)
        lines.append(line)
    if not lines:
        raise _NotPlain
    return blocks


def _within(budget: BudgetLike, text: str, blocks: list[tuple[list[_Line], int]]) -> bool:
    """Whether a file certainly keeps its budget: nodes to the count, the rest by its columns.

    A level begins one column further, or is a list in the column of its key, whose items begin two
    further: so levels are at most the columns, and a few for what stands on the last line.
    """
    nodes = columns = 0
    for lines, _ in blocks:
        nodes += 1 + sum(map(_nodes_of, lines))
        columns = max(columns, *map(_column_of, lines))
    if nodes > budget.nodes or columns + 6 + _MOST_FLOW > budget.depth:
        return False
    return len(text) <= budget.scalar or max(map(len, text.split("\n"))) <= budget.scalar


_known: dict[str, _Line] = {"---": _MARK}
_MOST_KNOWN = 4096


def _line(text: str) -> _Line:
    stripped = text.lstrip(" ")
    line = _read_line(text) if stripped and stripped[0] != "#" else _BLANK
    if not isinstance(line[3], dict | list):  # those are made anew for each document
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
            _known["---"] = _MARK
        _known[text] = line
    return line


def _read_line(text: str) -> _Line:
    match = _LINE(text)
    if match is None or text[-1] == " ":
        raise _NotPlain
    indent, dash, key, written, item = match.groups()
    if key is None:
        if dash is None:
            raise _NotPlain
        value = _value(item)
        return len(indent), True, None, value, _nodes(value)
    if not isinstance(resolve(key), str):
        raise _NotPlain
    value = _NOTHING if written is None else _value(written)
    # an item that begins with a key is a mapping, which counts as well
    nodes = _nodes(value) + (1 if dash is None else 2)
    return len(indent), dash is not None, key, value, nodes


def _value(written: str) -> Any:
    if _WORD(written) is None:
        if written[0] in "[{":
            return _flow(written)
        quoted = _QUOTED(written)
        if quoted is not None:
            return quoted[1] if quoted[1] is not None else quoted[2]
        if _PLAIN(written) is None:
            raise _NotPlain
    return _resolved(written)


def _resolved(written: str) -> Any:
    meaning = resolve(written)
    if isinstance(meaning, Refused) or meaning is None:
        raise _NotPlain
    return meaning


def _nodes(value: Any) -> int:
    """How many nodes a value is, with those inside a flow collection."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(_nodes, value.values()))
    return 1 + sum(map(_nodes, value)) if isinstance(value, list) else 1


def _value_of(lines: list[_Line]) -> dict[str, Any]:
    """The value of one document, by the indentation of its lines."""
    if lines[0][0] or lines[0][1]:
        raise _NotPlain
    lines.append(_END)
    value, end = _mapping(lines, 0, 0)
    if lines[end] is not _END:
        raise _NotPlain
    return value


def _mapping(lines: list[_Line], at: int, indent: int) -> tuple[dict[str, Any], int]:
    """The mapping whose keys stand in a column, from a line on; where it ends."""
    value: dict[str, Any] = {}
    while True:
        column, dash, key, written, _ = lines[at]
        if dash:
            if value or column + 2 != indent:  # else that line is the item of a list
                return value, at
        elif column != indent:
            return value, at
        if key is None or key in value:
            raise _NotPlain
        at += 1
        if written is _NOTHING:
            value[key], at = _below(lines, at, indent)
        else:
            value[key] = written


def _below(lines: list[_Line], at: int, indent: int) -> tuple[Any, int]:
    """The value that stands in the lines below its key."""
    column, dash, *_ = lines[at]
    if dash and column >= indent:
        return _sequence(lines, at, column)
    if column > indent:
        return _mapping(lines, at, column)
    raise _NotPlain


def _sequence(lines: list[_Line], at: int, indent: int) -> tuple[list[Any], int]:
    value: list[Any] = []
    while True:
        column, dash, key, written, _ = lines[at]
        if not dash or column != indent:
            return value, at
        if key is None:
            value.append(written)
            at += 1
        else:
            item, at = _mapping(lines, at, indent + 2)
            value.append(item)


def _flow(written: str) -> Any:
    """A flow collection that ends with its line."""
    if _WORDS(written) is not None:
        return [_resolved(word) for word in written[1:-1].split(", ")]
    tokens = _tokens(written)
    value = _flow_value(next(tokens), tokens, 1)
    if next(tokens, None) is not None:
        raise _NotPlain
    return value


_Token = tuple[str, str]


def _tokens(written: str) -> Iterator[_Token]:
    at = 0
    while at < len(written):
        match = _FLOW(written, at)
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

    def later(self, number: int) -> Positions:
        """The positions of one document."""
        return made_later(Positions, partial(self._of, number))

    def _of(self, number: int) -> Positions:
        if self._read is None:
            self._read = self._long_way()
        return self._read[number].positions
