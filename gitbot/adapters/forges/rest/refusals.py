"""Refusals and lost answers of a REST API."""

from __future__ import annotations

import json
from typing import Any

from gitbot.errors import ForgeError, ForgeRefused
from gitbot.model.text.wording import shortened

_MAX_SAID = 300


class RestRefusal(ForgeRefused):
    """The forge refused. `status` is the HTTP status, `said` its message and errors."""

    def __init__(self, message: str, *, status: int, said: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.said = said

    @property
    def absent(self) -> bool:
        """Whether the object does not exist, or is hidden from these credentials."""
        return self.status in (404, 410)

    @property
    def forbidden(self) -> bool:
        return self.status in (401, 403)


class Unanswered(ForgeError):
    """There was no usable answer. A write may have taken effect: read before you go on."""


def said_in(body: str) -> str:
    """Message and errors of an answer in one line; "" for HTML and empty answers."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    words = [*_words(value.get("message")), str(value.get("error") or "")]
    errors = value.get("errors")
    words += [_error(item) for item in errors] if isinstance(errors, list) else []
    text = ": ".join(dict.fromkeys(word.rstrip(".") for word in words if word))
    return shortened(" ".join(text.split()), _MAX_SAID)


def _words(message: Any) -> list[str]:
    """GitLab's message may be a text, several, or several for each field."""
    if isinstance(message, dict):
        return [f"{field} {word}" for field, said in message.items() for word in _words(said)]
    return [str(item) for item in message] if isinstance(message, list) else [str(message or "")]


def _error(item: Any) -> str:
    """One element of `errors` of a 422: a text, or resource, field and code."""
    if not isinstance(item, dict):
        return str(item)
    if item.get("message"):
        return str(item["message"])
    return " ".join(str(item[key]) for key in ("resource", "field", "code") if item.get(key))
