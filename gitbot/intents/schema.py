"""The JSON Schema of every intent kind, as editors and CI take it."""

from __future__ import annotations

from typing import Any

from gitbot.errors import UsageError
from gitbot.intents.registry import KINDS, document_schema


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one intent kind. UsageError for another kind."""
    if kind not in KINDS:
        raise UsageError(f"{kind} is no kind of intent", hint=f"expected {', '.join(KINDS)}")
    return document_schema(kind)
