"""A document as a value, and the budget of one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitbot.documents.positions import Path, Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """One document: its number in the file (from 1), plain data, and the positions of everything.

    `reported` holds the paths whose values are findings already; refused values are None. `holes`
    holds the paths of mappings with a refused key; `empty` those of keys and items without a value,
    in the order of the file. `sound` is False if any finding is about this document.
    """

    index: int
    value: Any
    positions: Positions
    reported: frozenset[Path] = frozenset()
    holes: frozenset[Path] = frozenset()
    empty: tuple[Path, ...] = ()
    sound: bool = True

    @property
    def line(self) -> int:
        return self.positions.value(()).line


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of one file: bytes, nesting depth, nodes (keys, values, items), scalar length."""

    bytes: int = 1024 * 1024
    depth: int = 32
    nodes: int = 20_000
    scalar: int = 16 * 1024


DEFAULT_BUDGET = Budget()
