"""Canonical JSON and digests: UTF-8, sorted keys, no spaces, integers only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gitbot.errors import Bug

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: Any) -> bytes:
    """Canonical JSON bytes of plain data. A float or any other type is a bug."""
    _refuse_floats(value)
    return _ENCODER.encode(value).encode("utf-8")


def digest(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical JSON of plain data."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def short_digest(text: str, length: int) -> str:
    """The first `length` hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:length]


def _refuse_floats(value: Any) -> None:
    if value is None or isinstance(value, str | int):
        return
    match value:
        case dict() | Mapping():  # dict alone is faster, and nearly always enough
            for key, item in value.items():
                if not isinstance(key, str):
                    raise Bug(f"BUG: canonical JSON with a key that is not text: {key!r}")
                _refuse_floats(item)
        case list() | tuple() | Sequence():
            for item in value:
                _refuse_floats(item)
        case _:
            raise Bug(f"BUG: canonical JSON of {type(value).__name__}")
