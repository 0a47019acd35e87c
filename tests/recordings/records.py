"""Reading recordings: one JSON object a line, gzip or plain. Damage costs its own line only."""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitbot.errors import UsageError

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_EXPECTED = "expected recorded JSON lines, one record a line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a file: its record, or in `error` why it holds none. `number` counts from 1."""

    number: int
    record: Mapping[str, Any] | None = None
    error: str = ""


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a recording; empty ones are passed over.

    UsageError for a file that cannot be read, holds no line, or is not text at all.

    A file that breaks off gives what came before, and one Line with the error.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}", hint="name a file of recorded JSON lines") from error
    text, damage = _unpacked(data)
    if not damage and not text.strip():
        found = "only empty lines" if text else "an empty file"
        raise UsageError(f"{path}: found {found}, {_EXPECTED}")
    if not text.isascii() and not _is_text(text[:_CHUNK]):
        raise UsageError(f"{path}: found bytes that are not text, {_EXPECTED}, as gzip or UTF-8")
    lines = text.split(b"\n")
    rest = lines.pop() if damage else b""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parsed(number, line)
    if damage:
        half = ", in the middle of this line" if rest.strip() else ""
        yield Line(number=len(lines) + 1, error=f"the file {damage}{half}")


def _is_text(data: bytes) -> bool:
    """Whether the beginning of a file is UTF-8; a letter cut at its end is none of its faults."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _unpacked(data: bytes) -> tuple[bytes, str]:
    """The text of a file and what is wrong with its packing, "" where nothing is."""
    if not data.startswith(_GZIP):
        return data, ""
    pieces = []
    while data:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            for start in range(0, len(data), _CHUNK):
                pieces.append(unpacker.decompress(data[start : start + _CHUNK]))
                if unpacker.eof:
                    rest = unpacker.unused_data + data[start + _CHUNK :]
                    break
        except zlib.error:
            return b"".join(pieces), "is damaged: what follows cannot be unpacked"
        if not unpacker.eof:
            return b"".join(pieces), "ends too early: it was cut off"
        data = rest if rest.startswith(_GZIP) else b""
    return b"".join(pieces), ""


def _parsed(number: int, line: bytes) -> Line:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Line(number=number, error=f"not JSON: {error}")
    if not isinstance(record, dict):
        kind = type(record).__name__
        return Line(number=number, error=f"expected a JSON object, found a {kind}")
    return Line(number=number, record=record)


def wanted(record: Mapping[str, Any], *keys: str) -> None:
    """Raise UsageError where a record lacks one of these keys."""
    missing = [key for key in keys if key not in record]
    if missing:
        found = ", ".join(sorted(record)) or "nothing"
        raise UsageError(f"the record has no {', '.join(missing)}; found {found}")
