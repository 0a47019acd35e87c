"""The part of GitHub's expressions that names of groups and jobs use: paths, texts, ||, &&, ==."""

from __future__ import annotations

import re
from typing import Any

from gitbot.errors import InvalidInput

_PLACE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|\|\||&&|==|!=|[()!]|[\w.-]+)")


def fill(text: str, context: dict[str, Any]) -> str:
    """The text with its expressions worked out. Raises InvalidInput for what is not understood."""

    def value(found: re.Match[str]) -> str:
        worth = _Reader(found.group(1), context).whole()
        if worth is None:
            return ""
        return str(worth).lower() if isinstance(worth, bool) else str(worth)

    return _PLACE.sub(value, text)


class _Reader:
    """One expression, read from left to right."""

    def __init__(self, text: str, context: dict[str, Any]) -> None:
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens) != "".join(re.split(r"\s+(?=(?:[^']*'[^']*')*[^']*$)", text)):
            raise InvalidInput(f"the expression {text!r} is beyond the GitHub double")
        self._text = text
        self._context = context

    def whole(self) -> Any:
        value = self._either()
        if self._tokens:
            raise InvalidInput(f"the expression {self._text!r} is beyond the GitHub double")
        return value

    def _taken(self, *wanted: str) -> str:
        if self._tokens and self._tokens[0] in wanted:
            return str(self._tokens.pop(0))
        return ""

    def _either(self) -> Any:
        value = self._both()
        while self._taken("||"):
            other = self._both()
            value = value or other
        return value

    def _both(self) -> Any:
        value = self._equal()
        while self._taken("&&"):
            other = self._equal()
            value = value and other
        return value

    def _equal(self) -> Any:
        value = self._one()
        while word := self._taken("==", "!="):
            other = self._one()
            value = (value == other) is (word == "==")
        return value

    def _one(self) -> Any:
        if self._taken("!"):
            return not self._one()
        if self._taken("("):
            value = self._either()
            self._taken(")")
            return value
        if not self._tokens:
            raise InvalidInput(f"the expression {self._text!r} ends too early")
        word = self._tokens.pop(0)
        if word.startswith("'"):
            return word[1:-1].replace("''", "'")
        if word.isdecimal():
            return int(word)
        return {"true": True, "false": False}.get(word, self._path(word))

    def _path(self, name: str) -> Any:
        value: Any = self._context
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value
