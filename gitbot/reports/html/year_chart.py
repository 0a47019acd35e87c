"""The openings of a year as lanes: one for each window and freeze, and on a pull request two.

Whole pixels; the template draws it. A mark is `kept`, `gone` (only before) or `fresh` (only after).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitbot.calendar import Appointment, day_start, months, span_words
from gitbot.model.grouping import grouped
from gitbot.model.text.instants import Interval
from gitbot.model.text.wording import counted, shortened
from gitbot.reports import escape

WIDTH = 960
MOST = 40
_LEFT = 190
_TICK = 24  # the width of a month's name
_ROW = 18
_LETTERS = 24
_FOOT = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class YearAhead:
    """Appointments of [start, end); `before` is None if nothing is compared. `zone` of the axis."""

    start: int
    end: int
    zone: str
    after: tuple[Appointment, ...]
    before: tuple[Appointment, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One opening on a lane."""

    kind: str
    title: str
    x: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YearLane:
    """The openings of one window or freeze, as they were or as they will be."""

    label: str
    title: str
    y: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class YearPicture:
    """Twelve months of windows and freezes; `left_out` lanes found no room."""

    lanes: tuple[YearLane, ...]
    ticks: tuple[tuple[int, str], ...]
    height: int
    zone: str
    left_out: int
    left: int = _LEFT
    width: int = WIDTH
    foot: int = _FOOT


def year_picture(year: YearAhead | None) -> YearPicture | None:
    """None if nothing opens."""
    if year is None:
        return None
    rows = list(_rows(year))
    if not rows:
        return None
    lanes = tuple(
        YearLane(label=label, title=title, y=index * _ROW, marks=marks)
        for index, (label, title, marks) in enumerate(rows[:MOST])
    )
    return YearPicture(
        lanes=lanes,
        ticks=tuple(_ticks(year)),
        height=len(lanes) * _ROW + _FOOT,
        zone=year.zone,
        left_out=max(0, len(rows) - MOST),
    )


def _rows(year: YearAhead) -> Iterator[tuple[str, str, tuple[Mark, ...]]]:
    """Label, title and marks. A window that does not change has one row."""
    new = _by_name(year.after)
    old = _by_name(year.before) if year.before is not None else new
    for kind, name in sorted({*old, *new}, reverse=True):
        one, other = old.get((kind, name), ()), new.get((kind, name), ())
        was, will = ({(each.time, each.zone) for each in some} for some in (one, other))
        sides = [("", other)] if was == will else [("before ", one), ("after ", other)]
        for side, listed in sides:
            kinds = was & will
            marks = tuple(
                _mark(year, each, kinds, gone=side == "before ", freeze=kind == "freeze")
                for each in listed
            )
            text = escape.plain(f"{side}{name}")
            openings = counted(len(marks), "opening")
            yield shortened(text, _LETTERS), f"{kind} {text}: {openings}", marks


def _by_name(events: Sequence[Appointment]) -> dict[tuple[str, str], tuple[Appointment, ...]]:
    return grouped(
        (each.key, each) for each in events if each.kind != "request" and not each.cancelled
    )


def _mark(
    year: YearAhead,
    each: Appointment,
    kept: set[tuple[Interval, str]],
    *,
    gone: bool,
    freeze: bool,
) -> Mark:
    stays = (each.time, each.zone) in kept
    kind = ("frozen" if freeze else "kept") if stays else ("gone" if gone else "fresh")
    x = _x(year, each.time.start)
    words = escape.plain(span_words(each, now=year.start))
    return Mark(kind=kind, title=words, x=x, width=max(3, _x(year, each.time.end) - x))


def _x(year: YearAhead, instant: int) -> int:
    inside = min(max(instant, year.start), year.end)
    return _LEFT + (inside - year.start) * (WIDTH - _LEFT) // max(1, year.end - year.start)


def _ticks(year: YearAhead) -> Iterator[tuple[int, str]]:
    for first in months(year.start, year.end, year.zone)[1:]:
        x = _x(year, day_start(first.isoformat(), year.zone))
        if x < WIDTH - _TICK:
            yield x, f"{first:%b}" + (f" {first.year}" if first.month == 1 else "")
