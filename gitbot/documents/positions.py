"""Places in a file: where each value and each key of a document stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.model.later import Later

Path = tuple[str | int, ...]
"""A key path: text for mapping keys, integers from 0 for list items."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Position:
    """A place in a file; line and column count from 1, in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """How a scalar is written: its text as in the file (quotes removed), quoted or plain."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions(Later):
    """Positions of one document. A path that does not exist answers with its nearest parent's."""

    values: Mapping[Path, Position] = field(default_factory=dict)
    keys: Mapping[Path, Position] = field(default_factory=dict)
    scalars: Mapping[Path, Scalar] = field(default_factory=dict)

    def value(self, path: Path) -> Position:
        """Where the value under a path begins."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Position(line=1, column=1))

    def key(self, path: Path) -> Position:
        """Where the key of a path begins; a list item's own place, the document's for `()`."""
        found = self.keys.get(path)
        if found is not None:
            return found
        if path in self.values or not path:
            return self.value(path)
        return self.key(path[:-1])

    def scalar(self, path: Path) -> Scalar | None:
        """How the scalar under a path is written; None where there is none."""
        return self.scalars.get(path)

    def quoted(self, path: Path) -> bool:
        """Whether the value under a path is quoted (or block) text."""
        scalar = self.scalars.get(path)
        return scalar is not None and scalar.quoted


def key_path(path: Path) -> str:
    """A path as people write it: `spec.vms.names[0]`, `metadata.labels["app/x"]`."""
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
