"""Calendar entries in words: openings of windows and freezes, times of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from gitbot.calendar.time_formats import DAY, format_duration
from gitbot.calendar.zones import clock_time
from gitbot.model.text.instants import FOREVER, Interval

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MARKS = {"window": "W", "freeze": "F", "request": "R"}
CHANGE_WINDOW = "change window"  # what a window without nodes is
_CELL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment:
    """One opening of a window or freeze, or the time in which a request may run.

    `name` is `namespace/name` for a request. `id` is the occurrence, "" without a schedule. `lead`
    are the seconds before the start in which moves may run; if `lead_is_open`, a plan may still
    choose fewer. `announced` is when the bot proposes a drain, 0 if it proposes none. `cancelled`
    says why it does not open after all, `frozen` which freezes cover it. `zone` is the one in which
    people read it.
    """

    kind: Literal["window", "freeze", "request"]
    name: str
    time: Interval
    zone: str
    id: str = ""
    what: str = ""
    lead: int = 0
    lead_is_open: bool = False
    announced: int = 0
    cancelled: str = ""
    frozen: str = ""
    file: str = ""

    @property
    def always(self) -> bool:
        """Whether it has no written end."""
        return self.time.end >= FOREVER

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name


def appointment_words(event: Appointment, *, now: int) -> str:
    """`Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; 4 nodes; proposal opens Thu 3 Dec`."""
    parts = [f"{span_words(event, now=now)}{_distance(event, now)}"]
    if event.cancelled:
        parts.append(f"cancelled: {event.cancelled}")
    parts += [part for part in (event.what, event.frozen) if part]
    if event.cancelled or event.frozen.startswith("wholly"):  # nothing moves, whatever its lead
        return "; ".join(parts)
    if event.lead_is_open:
        parts.append(f"moves from when its plan says, at most {format_duration(event.lead)} before")
    elif event.lead:
        parts.append(f"moves from {_moment(event.time.start - event.lead, event.zone, now)}")
    if event.announced:
        verb = "proposal opens" if event.announced > now else "proposal due since"
        parts.append(f"{verb} {_day(clock_time(event.announced, event.zone), event.zone, now)}")
    return "; ".join(parts)


def span_words(event: Appointment, *, now: int) -> str:
    """`Sun 6 Dec 22:00-02:00 Europe/Madrid`; the year only if it is not that of `now`."""
    start, end = event.time.start, event.time.end
    if event.always and not start and event.kind == "window" and event.what != CHANGE_WINDOW:
        return "from its merge until its nodes are back"
    if event.always:
        begin = f"from {_moment(start, event.zone, now)} {event.zone}" if start else "always"
        return f"{begin}, without an end" if start else begin
    first = _moment(start, event.zone, now)
    if not start:
        return f"until {_moment(end, event.zone, now)} {event.zone}"
    local, last = clock_time(start, event.zone), clock_time(end, event.zone)
    if end - start > DAY:
        return f"{first} - {_moment(end, event.zone, now)} {event.zone}"
    changed = last - local != timedelta(seconds=end - start)
    length = f" ({format_duration(end - start)}: clocks change)" if changed else ""
    return f"{first}-{last:%H:%M} {event.zone}{length}"


def _distance(event: Appointment, now: int) -> str:
    if event.time.end <= now:
        return ", over"
    if event.time.start > now:
        return f", in {_length(event.time.start - now)}"
    if event.always or event.cancelled:
        return ""
    return f", open for another {_length(event.time.end - now)}"


def _length(seconds: int) -> str:
    return f"{seconds // DAY} days" if seconds >= 2 * DAY else format_duration(seconds)


def _moment(instant: int, zone: str, now: int) -> str:
    local = clock_time(instant, zone)
    return f"{_day(local, zone, now)} {local:%H:%M}"


def _day(local: datetime, zone: str, now: int) -> str:
    year = "" if local.year == clock_time(now, zone).year else f" {local.year}"
    return f"{DAYS[local.weekday()]} {local.day} {MONTHS[local.month - 1]}{year}"


def month_text(events: Iterable[Appointment], first: date, zone: str) -> str:
    """One month as a table of weeks; W, F and R mark the days on which something is open."""
    marks = _marks(events, first, zone)
    title = f"{MONTHS[first.month - 1]} {first.year}, {zone}"
    lines = [title, "".join(f"{day:<{_CELL}}" for day in DAYS).rstrip()]
    day = first - timedelta(days=first.weekday())
    while day.month == first.month or day < first:
        week = [day + timedelta(days=index) for index in range(7)]
        cells = (
            f"{each.day:>2} {marks.get(each, ''):<{_CELL - 3}}"
            if each.month == first.month
            else " " * _CELL
            for each in week
        )
        lines.append("".join(cells).rstrip())
        day += timedelta(days=7)
    return "\n".join(lines) + "\n"


def _marks(events: Iterable[Appointment], first: date, zone: str) -> Mapping[date, str]:
    found: dict[date, set[str]] = {}
    last = following_month(first)
    for event in events:
        if event.cancelled or (event.always and not event.time.start):
            continue
        begin = max(clock_time(event.time.start, zone).date(), first)
        end = last if event.always else min(clock_time(event.time.end - 1, zone).date(), last)
        for number in range((end - begin).days + 1):
            found.setdefault(begin + timedelta(days=number), set()).add(_MARKS[event.kind])
    return {day: "".join(mark for mark in "WFR" if mark in marks) for day, marks in found.items()}


def following_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def months(after: int, before: int, zone: str) -> Sequence[date]:
    """The first days of the months that [after, before) overlaps."""
    day = clock_time(after, zone).date().replace(day=1)
    found = []
    while day <= clock_time(max(after, before - 1), zone).date():
        found.append(day)
        day = following_month(day)
    return found
