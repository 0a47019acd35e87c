"""The values of an expression, part by part, for the people who write it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gitbot.model.text.instants import format_instant
from gitbot.policy.batch.read_set import chain_of, project, reads
from gitbot.policy.cel_engine import Program, evaluate, part_of
from gitbot.policy.cel_syntax import Syntax, SyntaxKind, SyntaxNode, read_syntax
from gitbot.policy.errors import EvaluationError
from gitbot.policy.source_ranges import extent_of, line_and_column

ROUNDS = 3  # rounds of a loop that are shown
_LOOKED_AT = 200
_BOUND = "cel.bind"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedStep:
    """A part of an expression and its value, or why it has none. `given` are variables of loops.

    `left_out` counts rounds of a loop that are not among the parts.
    """

    line: int
    column: int
    expression: str
    value: Any = None
    error: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[EvaluatedStep, ...] = ()
    left_out: int = 0


def steps(program: Program, data: Mapping[str, Any], *, whole: bool = True) -> EvaluatedStep:
    """The values of an expression and, if `whole`, of its parts. `data` are its variables."""
    return _Stepper(program, data, whole).step(read_syntax(program.checked).root, {})


class _Stepper:
    def __init__(self, program: Program, data: Mapping[str, Any], whole: bool) -> None:
        self._program = program
        self._whole = whole
        self._syntax: Syntax = read_syntax(program.checked)
        self._data = {name: project(data[name], tree) for name, tree in reads(program).items()}

    def step(self, node: SyntaxNode, given: Mapping[str, Any]) -> EvaluatedStep:
        value, error = self._value(node, given)
        parts: tuple[EvaluatedStep, ...] = ()
        left_out = 0
        if not self._whole:
            pass
        elif node.kind is SyntaxKind.COMPREHENSION:
            parts, left_out = self._loop(node, value, given)
        elif chain_of(node) is None or node.kind is SyntaxKind.CALL:
            parts = tuple(self.step(part, given) for part in node.parts if not _plain(part))
        extent = extent_of(self._program.text, self._syntax, node)
        line, column = line_and_column(self._program.text, extent.start)
        return EvaluatedStep(
            line=line,
            column=column,
            expression=extent.text(self._program.text),
            value=plain(value),
            error=error,
            given={name: plain(item) for name, item in given.items()},
            parts=parts,
            left_out=left_out,
        )

    def _value(self, node: SyntaxNode, given: Mapping[str, Any]) -> tuple[Any, str]:
        data, error = {**self._data, **given}, ""
        for form in (self._syntax.alone, self._syntax.or_null):
            try:
                return evaluate(part_of(self._program, form(node)), data), ""
            except EvaluationError as found:
                error = error or str(found)
        return None, error

    def _loop(
        self, node: SyntaxNode, value: Any, given: Mapping[str, Any]
    ) -> tuple[tuple[EvaluatedStep, ...], int]:
        """The range of a loop, and its rounds, the deciding ones first."""
        over, start, *inner = node.parts
        bodies = [body for part in inner for body in self._written(part, node)]
        if not self._own(over, node):  # cel.bind: one round with one value
            bound, _ = self._value(start, given)
            known = {**given, node.more[0]: bound}
            first = (self.step(start, given),) if not _plain(start) else ()
            return (*first, *(self.step(body, known) for body in bodies)), 0
        items, _ = self._value(over, given)
        before = (self.step(over, given),)
        rounds = list(_rounds(node, items))
        found = [
            tuple(self.step(body, {**given, **bound}) for body in bodies)
            for bound in rounds[:_LOOKED_AT]
        ]
        decided = sorted(found, key=lambda made: not (made and made[0].value == value))
        shown = [step for made in decided[:ROUNDS] for step in made]
        return (*before, *shown), max(0, len(rounds) - ROUNDS)

    def _written(self, node: SyntaxNode, loop: SyntaxNode) -> Iterator[SyntaxNode]:
        """The topmost parts that a person wrote; a loop adds parts around them."""
        if self._own(node, loop):
            if not _plain(node) and node.name not in (loop.name, *loop.more):
                yield node
            return
        for part in node.parts:
            yield from self._written(part, loop)

    def _own(self, node: SyntaxNode, loop: SyntaxNode) -> bool:
        offsets = self._syntax.offsets
        return offsets.get(node.id) != offsets.get(loop.id)


def _rounds(loop: SyntaxNode, items: Any) -> Iterator[Mapping[str, Any]]:
    second = loop.more[1:]  # the accumulator is first
    if isinstance(items, Mapping):
        for key in sorted(items, key=str):
            yield {loop.name: key, **dict.fromkeys(second, items[key])}
    elif isinstance(items, Sequence) and not isinstance(items, str):
        for number, item in enumerate(items):
            yield {loop.name: number, second[0]: item} if second else {loop.name: item}


def _plain(node: SyntaxNode) -> bool:
    return node.kind is SyntaxKind.CONSTANT


def plain(value: Any) -> Any:
    """A value as JSON can represent it."""
    match value:
        case Mapping():
            return {_key(key): plain(value[key]) for key in sorted(value, key=_key)}
        case datetime():
            return format_instant(int(value.timestamp()))
        case timedelta():
            return f"{value.total_seconds():g}s"
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case None | bool() | int() | float() | str():
            return value
        case Sequence():
            return [plain(item) for item in value]
    return str(value)


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
