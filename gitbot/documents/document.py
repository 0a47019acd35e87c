"""A document as a value, and the file that it is read from, as its parts see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from gitbot.documents.positions import Path, Position, Positions, Scalar
from gitbot.documents.text import RefusedCharacters, Text
from gitbot.model.findings import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document: its number in the file (from 1), plain data, and where everything stands.

    `reported` holds the paths whose values are findings already; refused values are None.
    `holes` holds the paths of mappings with a refused key. `sound` is False where any finding is
    about this document. `line` is that of its first character. `filled` says that certainly no key
    and no item is without a value.
    """

    index: int
    value: Any
    positions: Positions
    reported: frozenset[Path] = frozenset()
    holes: frozenset[Path] = frozenset()
    sound: bool = True
    line: int = 1
    filled: bool = False


class Exhausted(Exception):
    """A budget ran out: nothing more of this file is read."""


class BudgetLike(Protocol):
    """What the builder counts against."""

    @property
    def depth(self) -> int:
        """Levels of nesting."""

    @property
    def nodes(self) -> int:
        """Keys, values and items."""

    @property
    def scalar(self) -> int:
        """Characters of one scalar."""


class Reading(Protocol):
    """The file being read, as the builder sees it."""

    text: Text
    documents: list[Document]
    findings: list[Finding]
    refused: RefusedCharacters
    quoted_spans: list[tuple[int, int]]
    started: int
    nodes: int

    @property
    def budget(self) -> BudgetLike:
        """What the file may use."""

    def report(
        self, code: str, place: Position, message: str, *, hint: str = "", key: str = ""
    ) -> None:
        """Add an error."""


@dataclass(slots=True)
class Notes:
    """Positions of the document being built."""

    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    scalars: dict[Path, Scalar] = field(default_factory=dict)
    reported: set[Path] = field(default_factory=set)
    holes: set[Path] = field(default_factory=set)
