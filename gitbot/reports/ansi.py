"""Styles of text on a terminal: the only place with escape sequences of colour.

Paint what is harmless already (`inert.terminal`), and after cells are padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gitbot.model.plan.findings import Severity

_NEXT = "next: "


class Style(StrEnum):
    """What a style says; the values are those of ECMA-48, SGR."""

    STRONG = "1"
    BAD = "31"
    GOOD = "32"
    CAREFUL = "33"


SEVERITIES = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.CAREFUL,
    Severity.NOTE: Style.STRONG,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """Without `colour`, every text stays as it is."""

    colour: bool = False

    def __call__(self, text: str, style: Style) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and text else text

    def command(self, line: str) -> str:
        """A line whose command to type next stands out."""
        before, said, command = line.rpartition(_NEXT)
        return f"{before}{said}{self(command, Style.STRONG)}" if said else line


PLAIN = Paint()
