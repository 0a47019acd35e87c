"""Reading recordings: one JSON object a line, gzip or plain."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from gitbot.errors import UsageError


def unpacked(path: Path) -> bytes:
    """The content of a file; UsageError if it cannot be read."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: {error}", hint="name a file of recorded JSON lines") from error


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a file; UsageError if it holds none."""
    try:
        found = [json.loads(line) for line in unpacked(path).splitlines() if line.strip()]
    except ValueError as error:
        raise UsageError(f"{path}: not recorded JSON lines: {error}") from error
    if not found:
        raise UsageError(f"{path}: found no record, expected recorded JSON lines")
    return found
