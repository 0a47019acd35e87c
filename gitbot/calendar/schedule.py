"""A schedule and its occurrences: local text to UTC instants.

On nights when clocks change: the end is the start plus the exact duration; of a repeated local time
the first one counts; an occurrence in a gap is dropped; a fixed start in a gap is an error.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from gitbot.calendar.ics import Holiday
from gitbot.calendar.recurrence import expand
from gitbot.calendar.time_formats import format_duration
from gitbot.calendar.zones import LocalKind, clock_time, day_start, local_text, resolve
from gitbot.model.text.instants import Interval, compact_instant, format_instant

MAX_OCCURRENCES = 10_000
"""Most occurrences that one call returns."""

_DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When something is open, as written: a local start without offset, and an IANA zone.

    `recurrence` is an RRULE ("" for once). An occurrence is left out if its local date is in
    `exclude`, or if one of the `holidays` touches that day.
    """

    start: datetime
    time_zone: str
    duration: int
    recurrence: str = ""
    exclude: tuple[date, ...] = ()
    holidays: tuple[Holiday, ...] = ()

    def left_out(self, day: date) -> str:
        """Why nothing opens on a day; "" if nothing forbids it."""
        if day in self.exclude:
            return "the day is excluded"
        if not self.holidays:
            return ""
        return _holidays(self.holidays, self.time_zone, day.year).get(day, "")


@functools.lru_cache(maxsize=1024)
def _holidays(holidays: tuple[Holiday, ...], zone: str, year: int) -> Mapping[date, str]:
    """The days of a year that an event overlaps, each with the reason for leaving it out."""
    after, before = (day_start(f"{each}-01-01", zone) for each in (year, year + 1))
    found: dict[date, str] = {}
    for holiday in holidays:
        why = "the day is excluded" + (f": {holiday.summary}" if holiday.summary else "")
        for time in holiday.times(zone, after=after, before=before):
            first = clock_time(max(time.start, after), zone).date()
            last = clock_time(min(time.end, before) - 1, zone).date()
            for number in range((last - first).days + 1):
                found.setdefault(first + timedelta(days=number), why)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Occurrence:
    """One opening, [start, end) in seconds UTC. `id` is its start, `20261206T210000Z`."""

    start: int
    end: int
    id: str

    @property
    def interval(self) -> Interval:
        return Interval(start=self.start, end=self.end)


def occurrences(schedule: Schedule, *, after: int, before: int) -> tuple[Occurrence, ...]:
    """The occurrences that overlap [after, before), oldest first.

    Seconds UTC; at most MAX_OCCURRENCES. Raises ValueError if `check_schedule` reports an error for
    the schedule.
    """
    found: list[Occurrence] = []
    for start in _starts_after(schedule, after - schedule.duration):
        if start >= before or len(found) == MAX_OCCURRENCES:
            break
        found.append(_occurrence(schedule, start))
    return tuple(found)


def current_or_next(schedule: Schedule, *, now: int) -> Occurrence | None:
    """The occurrence that is open now, else the next one; None if there is none left."""
    start = next(_starts_after(schedule, now - schedule.duration), None)
    return None if start is None else _occurrence(schedule, start)


def _starts_after(schedule: Schedule, after: int) -> Iterator[int]:
    """Starts later than `after`, oldest first. Endless if the rule is."""
    known = _known(schedule)
    while not known.found or known.found[-1] <= after:
        if known.at(len(known.found)) is None:
            break
    for place in itertools.count(bisect_right(known.found, after)):
        start = known.at(place)
        if start is None:
            break
        yield start
    if len(known.found) == _KEPT:
        later = itertools.islice(starts(schedule), _KEPT, None)
        yield from (start for start in later if start > after)


class _Starts:
    """Cached first starts of a schedule, because each opening is compared with each freeze."""

    def __init__(self, schedule: Schedule) -> None:
        self.found: list[int] = []
        self._more = starts(schedule)

    def at(self, place: int) -> int | None:
        """None if there are no more, or more than the cache keeps; `place` grows by at most one."""
        if place == len(self.found):
            try:
                start = next(self._more, None) if place < _KEPT else None
            except (ValueError, OverflowError):
                _known.cache_clear()  # otherwise the next call would return that there are no more
                raise
            if start is None:
                return None
            self.found.append(start)
        return self.found[place]


@functools.lru_cache(maxsize=2048)
def _known(schedule: Schedule) -> _Starts:
    return _Starts(schedule)


_KEPT = 20_000


def _occurrence(schedule: Schedule, start: int) -> Occurrence:
    return Occurrence(start=start, end=start + schedule.duration, id=compact_instant(start))


def starts(schedule: Schedule) -> Iterator[int]:
    """Starts of all occurrences in seconds UTC, oldest first. Endless if the rule is."""
    for local in locals_of(schedule):
        start, kind = resolve(local, schedule.time_zone)
        if kind is not LocalKind.SKIPPED:
            yield start


def locals_of(schedule: Schedule) -> Iterator[datetime]:
    """Naive local times of all occurrences that are not excluded, including dropped ones."""
    excluded = frozenset(schedule.exclude)
    years: dict[int, Mapping[date, str]] = {}
    moments: Iterator[datetime]
    if schedule.recurrence:
        moments = expand(schedule.recurrence, schedule.start, schedule.time_zone)
    else:
        moments = iter((schedule.start,))

    def left_out(moment: datetime) -> bool:
        day = moment.date()
        if schedule.holidays and day.year not in years:
            years[day.year] = _holidays(schedule.holidays, schedule.time_zone, day.year)
        return day in excluded or day in years.get(day.year, ())

    return itertools.filterfalse(left_out, moments)


def occurrence_words(occurrence: Occurrence, zone: str, *, now: int) -> str:
    """`opens Sun 2026-12-06 22:00 Europe/Madrid (2026-12-06T21:00:00Z), in 2 d 3 h, for 4 h`.

    One that is open now starts with `open until`, a past one with `closed`.
    """
    if occurrence.start <= now:
        verb = "open until" if now < occurrence.end else "closed"
        distance = occurrence.end - now
        length = (
            f"for another {format_duration(distance)}"
            if distance > 0
            else f"{format_duration(-distance)} ago"
        )
        return f"{verb} {_moment(occurrence.end, zone)}, {length}"
    wait = format_duration(occurrence.start - now)
    length = format_duration(occurrence.end - occurrence.start)
    return f"opens {_moment(occurrence.start, zone)}, in {wait}, for {length}"


def _moment(instant: int, zone: str) -> str:
    return f"{local_text(instant, zone)} {zone} ({format_instant(instant)})"
