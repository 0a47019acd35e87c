"""Plain data to YAML text that reads back unchanged: no aliases, times in quotes.

Keys keep their order. Text that a reader of YAML 1.1 or 1.2 could misread, and text with a colon
and digits such as times, is double-quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitbot.documents.positions import shown
from gitbot.documents.scalars import resolve
from gitbot.documents.source_text import refused_in, shown_in
from gitbot.errors import Bug

_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+()-]+)*")
_LONG = 1_000_000


def write_document(value: Any) -> str:
    """YAML text of plain data (mappings, sequences, text, integers, booleans, None)."""
    lines = _lines(value)
    return "\n".join(lines) + "\n"


def write_shown(value: Any) -> str:
    """Like `write_document`, for foreign data: characters that the reader refuses become U+XXXX."""
    return write_document(_shown(value))


def _shown(value: Any) -> Any:
    match value:
        case str():
            return shown_in(value)
        case Mapping():
            return {shown_in(key): _shown(item) for key, item in value.items()}
        case Sequence():
            return [_shown(item) for item in value]
    return value


def write_documents(values: Iterable[Any]) -> str:
    return "---\n".join(write_document(value) for value in values)


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for key, item in value.items() for line in _entry(f"{_text(key)}:", item)]
    if _is_list(value) and value:
        return [line for item in value for line in _item(item)]
    return [_scalar(value)]


def _entry(key: str, item: Any) -> list[str]:
    if isinstance(item, Mapping) and item:
        return [key, *(f"  {line}" for line in _lines(item))]
    if _is_list(item) and item:
        return [key, *_lines(item)]
    return [f"{key} {_scalar(item)}"]


def _item(item: Any) -> list[str]:
    lines = _lines(item)
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _text(value)
        case Mapping():
            return "{}"
        case Sequence():
            return "[]"
        case _:
            raise Bug(f"BUG: YAML of {type(value).__name__}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Bug(f"BUG: YAML with a key that is not text: {value!r}")
    if (char := refused_in(value)) is not None:
        raise Bug(f"BUG: YAML with the character U+{ord(char):04X}")
    plain = _PLAIN.fullmatch(value) and isinstance(resolve(value), str)
    return value if plain else shown(value, limit=_LONG)
