"""Why an expression has no program, or a program no value: what the engine says, made readable."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BUDGET = "Iteration budget exceeded"  # of cel_expr_python, which does not say its number
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")


class ExpressionError(Exception):
    """An expression that does not compile. Line and column count from 1 inside it."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def offset(self, text: str) -> int:
        """Where in the text, in code points."""
        lines = text.split("\n")[: self.line - 1]
        return min(sum(len(line) + 1 for line in lines) + self.column - 1, len(text))


class EvaluationError(Exception):
    """An expression that compiled but gave no answer: a missing key, a budget, an overflow."""


class NotData(Exception):
    """A value that the engine gives but does not take: a time, a type, an optional value."""


def placed(text: str, named: Mapping[str, str]) -> ExpressionError:
    """What the engine said, at its place. `named` says what the engine's types stand for."""
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
    if "Non-CEL value type for 'Python function" in line:  # goes on with an address in memory
        return "a function cannot pass on a time, a type or an optional value"
    line = line.replace(_BUDGET, f"{_BUDGET}: an evaluation may run 9,999 loop steps")
    return re.sub(r"^[A-Z_]+: |\s\[[A-Z_]+\]$", "", line)
