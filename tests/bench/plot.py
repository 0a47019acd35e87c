"""A plot with two logarithmic axes as SVG, the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 750, 400, 70, 50, 20, 50
COLOURS = ("#0b57d0", "#b3261e", "#1e7d34", "#7a4d00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series; all numbers above 0."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Whole powers of ten from `low` to `high`, between two pixels."""

    low: int
    high: int
    first: float
    last: float

    @classmethod
    def of(cls, values: Sequence[float], first: float, last: float) -> _Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low=low, high=max(high, low + 1), first=first, last=last)

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first), 1)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def log_log(lines: Sequence[Line], *, x: str, y: str) -> str:
    """The picture of some lines; `x` and `y` name the axes."""
    across = _Axis.of([value for line in lines for value in line.x], LEFT, WIDTH - RIGHT)
    up = _Axis.of([value for line in lines for value in line.y], HEIGHT - BOTTOM, TOP)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value in across.ticks:
        place = across.at(value)
        parts.append(_rule(place, TOP, place, HEIGHT - BOTTOM))
        parts.append(_text(place, HEIGHT - BOTTOM + 18, f"{value:,.0f}", "middle"))
    for value in up.ticks:
        place = up.at(value)
        parts.append(_rule(LEFT, place, WIDTH - RIGHT, place))
        parts.append(_text(LEFT - 8, place + 4, f"{value:g}", "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x, "middle"))
    parts.append(_text(LEFT, TOP - 7, y, "middle"))
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        points = [(across.at(a), up.at(b)) for a, b in zip(line.x, line.y, strict=True)]
        path = " ".join(f"{a},{b}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>' for a, b in points]
        parts.append(_text(LEFT + 12, TOP + 20 + 18 * number, line.name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333333") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
