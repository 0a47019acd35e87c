"""A checked expression as a tree, read from the engine's own bytes (cel.expr.CheckedExpr).

Field numbers are those of cel-spec's proto/cel/expr/{syntax,checked}.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPE_URL, _EXPR, _SOURCE, _POSITIONS = 1, 4, 5, 4


class SyntaxKind(IntEnum):
    """Number of the field that determines the kind of an Expr."""

    CONSTANT = 3
    IDENT = 4
    SELECT = 5
    CALL = 6
    LIST = 7
    STRUCT = 8
    COMPREHENSION = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNode:
    """One expression inside an expression.

    `name` is the identifier, the field, the function, or the loop variable. `text` is the value of
    a string constant, else None. `parts` are operand, target and arguments, elements, keys and
    values, or range, start, condition, step, result. `more` are the further variables of a loop.
    `raw` are its bytes, which are needed to evaluate it alone.
    """

    id: int
    kind: SyntaxKind
    raw: bytes
    name: str = ""
    text: str | None = None
    parts: tuple[SyntaxNode, ...] = ()
    more: tuple[str, ...] = ()

    def walk(self) -> Iterator[SyntaxNode]:
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """`offsets` are the positions of the nodes, in code points.

    `rest` are the bytes of the checked expression without its tree: references and types.
    """

    root: SyntaxNode
    offsets: Mapping[int, int]
    rest: bytes

    def alone(self, node: SyntaxNode) -> bytes:
        """A checked expression that is this node only."""
        return _any(self.rest + _field(_EXPR, node.raw))

    def or_null(self, node: SyntaxNode) -> bytes:
        """`NODE.orValue(null)`: an optional value has no form outside an expression."""
        call = _field(1, node.raw) + _field(2, b"orValue") + _field(3, _field(3, b"\x08\x00"))
        return _any(self.rest + _field(_EXPR, _field(SyntaxKind.CALL, call)))


@lru_cache(maxsize=4096)
def read_syntax(checked: bytes) -> Syntax:
    """The tree of a serialized checked expression."""
    (body,) = (value for number, value, _ in _fields(checked) if number == _BYTES)
    root, rest = SyntaxNode(id=0, kind=SyntaxKind.CONSTANT, raw=b""), b""
    offsets: dict[int, int] = {}
    for number, value, whole in _fields(_bytes(body)):
        if number == _EXPR:
            root = _node(_bytes(value))
        else:
            rest += whole
        if number == _SOURCE:
            for inner, entry, _ in _fields(_bytes(value)):
                if inner == _POSITIONS:
                    pair = {key: held for key, held, _ in _fields(_bytes(entry))}
                    offsets[int(pair.get(1, 0))] = int(pair.get(2, 0))
    return Syntax(root=root, offsets=offsets, rest=rest)


def _node(raw: bytes) -> SyntaxNode:
    found, number, inner = 0, 0, b""
    for field, value, _ in _fields(raw):
        if field == 2:
            found = int(value)
        elif field >= SyntaxKind.CONSTANT:
            number, inner = field, _bytes(value)
    kind = SyntaxKind(number or SyntaxKind.CONSTANT)
    name, text, parts, more = _KINDS[kind](inner)
    return SyntaxNode(id=found, kind=kind, raw=raw, name=name, text=text, parts=parts, more=more)


_Read = tuple[str, str | None, tuple[SyntaxNode, ...], tuple[str, ...]]


def _constant(inner: bytes) -> _Read:
    texts = [_bytes(value).decode() for field, value, _ in _fields(inner) if field == 6]
    return "", texts[0] if texts else None, (), ()


def _ident(inner: bytes) -> _Read:
    return _names(inner, 1)[0], None, (), ()


def _select(inner: bytes) -> _Read:
    return _names(inner, 2)[0], None, _nodes(inner, 1), ()


def _call(inner: bytes) -> _Read:
    return _names(inner, 2)[0], None, _nodes(inner, 1, 3), ()


def _list(inner: bytes) -> _Read:
    return "", None, _nodes(inner, 1), ()


def _struct(inner: bytes) -> _Read:
    entries = [_bytes(value) for field, value, _ in _fields(inner) if field == 2]
    return "", None, tuple(node for entry in entries for node in _nodes(entry, 3, 4)), ()


def _comprehension(inner: bytes) -> _Read:
    parts = _nodes(inner, 2, 4, 5, 6, 7)
    return "".join(_names(inner, 1)), None, parts, (*_names(inner, 3), *_names(inner, 8))


_KINDS = {
    SyntaxKind.CONSTANT: _constant,
    SyntaxKind.IDENT: _ident,
    SyntaxKind.SELECT: _select,
    SyntaxKind.CALL: _call,
    SyntaxKind.LIST: _list,
    SyntaxKind.STRUCT: _struct,
    SyntaxKind.COMPREHENSION: _comprehension,
}


def _names(inner: bytes, *numbers: int) -> list[str]:
    return [_bytes(value).decode() for field, value, _ in _fields(inner) if field in numbers]


def _nodes(inner: bytes, *numbers: int) -> tuple[SyntaxNode, ...]:
    return tuple(_node(_bytes(value)) for field, value, _ in _fields(inner) if field in numbers)


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Number, value and all bytes of each field."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at)
        value: int | bytes
        if key & 7 == _VARINT:
            value, at = _varint(data, at)
        else:
            size, at = _varint(data, at) if key & 7 == _BYTES else (_WIDTHS[key & 7], at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value, data[start:at]


_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _field(number: int, value: bytes) -> bytes:
    size, head = len(value), [number << 3 | _BYTES]
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes([*head, size]) + value


def _any(body: bytes) -> bytes:
    return _field(_TYPE_URL, b"type.googleapis.com/cel.expr.CheckedExpr") + _field(_BYTES, body)
