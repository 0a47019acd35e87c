"""The CEL engine: the only file that knows the CEL runtime (cel-expr-python, the C++ runtime).

Expressions are type-checked before anything runs. The runtime bounds each evaluation (9,999 loop
iterations, nesting of 32, 100,000 characters) and has no clock, so an expression gives the same
answer on every machine. Any failure of an evaluation is an EvaluationError, never a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

_MAP = "map"
_TIME = "time"
VARIABLES: Mapping[str, str] = {
    "plan": _MAP,
    "move": _MAP,
    "vm": _MAP,
    "source": _MAP,
    "node": _MAP,
    "intent": _MAP,
    "cluster": _MAP,
    "variables": _MAP,
    "now": _TIME,
}
EXTENSIONS: Mapping[str, str] = {
    "bindings": "`cel.bind`",
    "lists": "`slice`, `flatten`, `distinct`, `reverse`, `sort`, `sortBy`, `lists.range`",
    "math": "`math.greatest`, `math.least`, `math.ceil`, `math.floor`, `math.round`, `math.abs`",
    "optional": "`a.?b`, `a[?b]`, `orValue`, `hasValue`, `optMap`",
    "sets": "`sets.contains`, `sets.equivalent`, `sets.intersects`",
    "strings": "`charAt`, `format`, `indexOf`, `join`, `lowerAscii`, `replace`, `split`, `trim`",
    "two-var-comprehensions": "`all(i, v, ...)`, `exists(i, v, ...)`, `transformList`",
}
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression over these variables."""

    text: str
    names: frozenset[str]
    checked: bytes
    compiled: Any


def compile_expression(text: str, *, names: frozenset[str], returns: str = "") -> Program:
    """Check an expression over these variables. `returns` is `bool`, `string` or "" for any.

    Raises ExpressionError for a syntax error, an unknown name, a type error or another result type.
    """
    try:
        compiled = _environment(tuple(sorted(names))).compile(text)
    except RuntimeError as error:
        raise _placed(str(error)) from error
    found = str(compiled.return_type().name()).lower()
    if returns and found != returns:
        hint = " (compare it with a value)" if found == "dyn" else ""
        raise ExpressionError(f"gives {found}, expected {returns}{hint}")
    return Program(text, names, bytes(compiled.serialize()), compiled)


def part_of(program: Program, checked: bytes) -> Program:
    """A part of a program, as its syntax gives it alone."""
    compiled = _environment(tuple(sorted(program.names))).deserialize(checked)
    return replace(program, checked=checked, compiled=compiled)


def evaluate(program: Program, data: Mapping[str, Any]) -> Any:
    """The value of a program. Raises EvaluationError if it gives no answer."""
    try:
        value = program.compiled.eval(data=data)
        if value.type() == cel.Type.ERROR:
            raise EvaluationError(_short(str(value.plain_value())))
        return value.plain_value()
    except RuntimeError as error:
        raise EvaluationError(_short(str(error))) from error
    except TypeError as error:
        raise EvaluationError("an optional value; end it with orValue(...)") from error


def timestamp(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


@lru_cache(maxsize=32)
def _environment(names: tuple[str, ...]) -> Any:
    types = {_MAP: cel.Type.Map(cel.Type.STRING, cel.Type.DYN), _TIME: cel.Type.TIMESTAMP}
    extensions = "".join(f"\n- name: {name}" for name in EXTENSIONS)
    config = cel.NewEnvConfigFromYaml(f"name: gitbot\nextensions:{extensions}\n")
    variables = {name: types[VARIABLES[name]] for name in names}
    return cel.NewEnv(config=config, variables=variables)


def _placed(text: str) -> ExpressionError:
    match = _PLACE.search(text)
    if match is None:
        return ExpressionError(_short(text))
    message = re.sub(r" \(in container ''\)", "", match.group(3))
    return ExpressionError(message, line=int(match.group(1)), column=int(match.group(2)))


def _short(text: str) -> str:
    """`Key not found in map : "nope"` of `NOT_FOUND: Key not found in map : "nope" [NOT_FOUND]`."""
    line = text.splitlines()[0] if text else "no answer"
    return re.sub(r"^[A-Z_]+: |\s\[[A-Z_]+\]$", "", line)
