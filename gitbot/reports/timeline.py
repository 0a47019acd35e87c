"""The waves of a plan as bars on one time axis, in whole pixels; the template draws them."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.model.instants import format_instant
from gitbot.reports.diff import Diff, counted

WIDTH = 960
_LABEL = 150  # left of the axis
_ROW = 20
MAX_BARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One wave."""

    label: str
    title: str
    x: int
    y: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All waves, or the first 60 of them."""

    bars: tuple[Bar, ...]
    height: int
    starts: str
    ends: str
    left_out: int
    left: int = _LABEL
    width: int = WIDTH
    bar_height: int = _ROW - 6


def timeline(diff: Diff) -> Timeline | None:
    """The bars, None without waves."""
    waves = diff.plan.waves
    if not waves:
        return None
    start = min(wave.starts for wave in waves)
    end = max(wave.ends for wave in waves)
    span = max(1, end - start)
    scale = WIDTH - _LABEL
    bars = []
    for row, wave in enumerate(waves[:MAX_BARS]):
        moves = counted(sum(move.wave == wave.index for move in diff.plan.moves), "move")
        bars.append(
            Bar(
                label=f"wave {wave.index + 1}, {moves}",
                title=f"wave {wave.index + 1}, {moves}: {format_instant(wave.starts)} to "
                f"{format_instant(wave.ends)}",
                x=_LABEL + (wave.starts - start) * scale // span,
                y=row * _ROW,
                width=max(2, (wave.ends - wave.starts) * scale // span),
            )
        )
    return Timeline(
        bars=tuple(bars),
        height=len(bars) * _ROW + 22,
        starts=format_instant(start),
        ends=format_instant(end),
        left_out=len(waves) - len(bars),
    )
