"""Errors of compiling or evaluating an expression, with the engine's messages made readable."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BUDGET = "Iteration budget exceeded"  # cel_expr_python's message, without the budget
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")


class ExpressionError(Exception):
    """An expression that does not compile. Line and column count from 1 inside it."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def offset(self, text: str) -> int:
        """Position in the text, in code points."""
        lines = text.split("\n")[: self.line - 1]
        return min(sum(len(line) + 1 for line in lines) + self.column - 1, len(text))


class EvaluationError(Exception):
    """An expression that compiled but gave no answer: a missing key, a budget, an overflow."""


class NotData(Exception):
    """A value that the engine returns but does not accept: a time, a type, an optional value."""


def placed(text: str, named: Mapping[str, str]) -> ExpressionError:
    """The engine's message with its place. `named` maps its types to the names in messages."""
    match = _PLACE.search(text)
    if match is None:
        return ExpressionError(short(text))
    message = re.sub(r" \(in container ''\)", "", match.group(3))
    for said, name in named.items():
        message = message.replace(said, name)
    return ExpressionError(message, line=int(match.group(1)), column=int(match.group(2)))


def short(text: str) -> str:
    """`Key not found in map : "nope"` of `NOT_FOUND: Key not found in map : "nope" [NOT_FOUND]`."""
    line = text.splitlines()[0] if text else "no answer"
    if "Non-CEL value type for 'Python function" in line:  # the rest contains a memory address
        return "a function cannot pass on a time, a type or an optional value"
    line = line.replace(_BUDGET, f"{_BUDGET}: an evaluation may run 9,999 loop steps")
    return re.sub(r"^[A-Z_]+: |\s\[[A-Z_]+\]$", "", line)
