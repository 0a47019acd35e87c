"""A schedule and its occurrences: local text in, instants on the UTC line out.

Policy of the nights when clocks change: the end is the start plus the exact duration; of a
repeated local time the first counts; an occurrence in a gap is lost; a fixed start in a gap is an
error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gitbot.calendar.recurrence import expand
from gitbot.calendar.text import parse_date, parse_duration, parse_local
from gitbot.calendar.zones import LocalKind, resolve
from gitbot.model.instants import Interval, compact_instant

MAX_OCCURRENCES = 10_000
"""At most so many occurrences come out of one call."""

_DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When something is open, as written: a local start without offset, an IANA zone.

    `recurrence` is an RRULE ("" for once), `exclude` local dates whose occurrences do not happen.
    """

    start: str
    time_zone: str
    duration: str
    recurrence: str = ""
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Occurrence:
    """One opening, [start, end) in seconds UTC; `id` is its start, `20261206T210000Z`."""

    start: int
    end: int
    id: str

    @property
    def interval(self) -> Interval:
        """Its time."""
        return Interval(start=self.start, end=self.end)


def occurrences(schedule: Schedule, *, after: int, before: int) -> tuple[Occurrence, ...]:
    """The occurrences that are open at some time in [after, before), oldest first.

    Seconds UTC; at most MAX_OCCURRENCES. The schedule must be one that `check_schedule` passes
    without error; ValueError otherwise.
    """
    duration = parse_duration(schedule.duration)
    found: list[Occurrence] = []
    for start in starts(schedule):
        if start >= before or len(found) == MAX_OCCURRENCES:
            break
        if start + duration > after:
            found.append(Occurrence(start=start, end=start + duration, id=compact_instant(start)))
    return tuple(found)


def current_or_next(schedule: Schedule, *, now: int) -> Occurrence | None:
    """The occurrence that is open now, else the next one; None where none is left."""
    duration = parse_duration(schedule.duration)
    for start in starts(schedule):
        if start + duration > now:
            return Occurrence(start=start, end=start + duration, id=compact_instant(start))
    return None


def starts(schedule: Schedule) -> Iterator[int]:
    """Starts of all occurrences in seconds UTC, oldest first; unbounded where the rule is."""
    for local in locals_of(schedule):
        start, kind = resolve(local, schedule.time_zone)
        if kind is not LocalKind.SKIPPED:
            yield start


def locals_of(schedule: Schedule) -> Iterator[datetime]:
    """Naive local times of all occurrences that are not excluded, lost ones included."""
    start = parse_local(schedule.start)
    excluded = {parse_date(text) for text in schedule.exclude}
    moments: Iterator[datetime]
    if schedule.recurrence:
        moments = expand(schedule.recurrence, start, schedule.time_zone)
    else:
        moments = iter((start,))
    return itertools.filterfalse(lambda moment: moment.date() in excluded, moments)
