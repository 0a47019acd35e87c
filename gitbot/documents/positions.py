"""Places in a file: the position of each value and each key of a document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Path = tuple[str | int, ...]
"""A key path: text for mapping keys, integers from 0 for list items."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Position:
    """A place in a file; line and column count from 1, in characters."""

    line: int
    column: int


TOP = Position(line=1, column=1)
"""The first character of a file."""


def position_of(offset: int, line_starts: Sequence[int]) -> Position:
    """Line and column of a character offset, as editors count them."""
    line = bisect_right(line_starts, offset)
    return Position(line=line, column=offset - line_starts[line - 1] + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Positions of one document. A missing path gives its nearest parent's position.

    `values` and `keys` hold character offsets in the file, whose lines begin at `line_starts`.
    `plain` holds the text of every plain scalar; other scalars are quoted (or block) text.
    """

    line_starts: Sequence[int] = (0,)
    values: Mapping[Path, int] = field(default_factory=dict)
    keys: Mapping[Path, int] = field(default_factory=dict)
    plain: Mapping[Path, str] = field(default_factory=dict)

    def value(self, path: Path) -> Position:
        while path and path not in self.values:
            path = path[:-1]
        return position_of(self.values.get(path, 0), self.line_starts)

    def key(self, path: Path) -> Position:
        """The position of a path's key; of a list item itself, and of the document for `()`."""
        found = self.keys.get(path)
        if found is not None:
            return position_of(found, self.line_starts)
        if path in self.values or not path:
            return self.value(path)
        return self.key(path[:-1])


def key_path(path: Path) -> str:
    """A path in people's notation: `spec.vms.names[0]`, `metadata.labels["app/x"]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step and all(char.isalnum() or char in "_-" for char in step) and step.isascii():
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{shown(step)}]")
    return "".join(parts)


def shown(value: object, limit: int = 60) -> str:
    """A value as messages show it: text quoted and escaped, cut to `limit` characters."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            cut = value if len(value) <= limit else value[: limit - 3] + "..."
            return '"' + "".join(_escaped(char) for char in cut) + '"'
        case int() | float():
            text = str(value)
            return text if len(text) <= limit else text[: limit - 3] + "..."
        case list() | tuple():
            return "a list" if value else "an empty list"
        case _:
            return "a mapping" if value else "an empty mapping"


def _escaped(char: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if char in short:
        return short[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
