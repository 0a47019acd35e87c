"""Schedules of windows and freezes: local start, zone, duration, recurrence, excluded days."""

from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Self

from pydantic import AfterValidator, Field, PrivateAttr, WithJsonSchema

from gitbot.calendar import Holiday, Problem, Schedule, check_schedule
from gitbot.documents import Path, Report, formats, schemas, value_at
from gitbot.documents.fields import Duration, Text, TimeZone, Value
from gitbot.intents.spec_fields import UNIQUE, LocalDate, LocalTime
from gitbot.model.plan.findings import Severity

Recurrence = Annotated[Text, WithJsonSchema(schemas.RECURRENCE)]


RepositoryPath = Annotated[
    str,
    AfterValidator(formats.repository_path),
    Field(min_length=1),
    WithJsonSchema(schemas.PATH),
]


class CalendarSpec(Value):
    """A calendar file beside the intents."""

    path: RepositoryPath = Field(description="An .ics file below the cluster's folder of intents.")
    time_zone: TimeZone | None = Field(
        default=None,
        description="IANA zone of days and of times without one; default: the cluster's timeZone.",
    )


class ScheduleSpec(Value):
    """When something is open. Without recurrence it opens once."""

    start: LocalTime = Field(
        description="Local time without offset, in quotes: when it opens (first)."
    )
    time_zone: TimeZone | None = Field(
        default=None, description="IANA zone; default: the cluster's timeZone."
    )
    duration: Duration = Field(description="How long it is open, exactly (DST changes nothing).")
    recurrence: Recurrence | None = Field(
        default=None,
        description="RFC 5545 recurrence rule, as FREQ=MONTHLY;BYDAY=1SU; absent: once.",
    )
    exclude: tuple[LocalDate, ...] = Field(
        default=(),
        strict=False,
        description="Local days on which it does not open.",
        json_schema_extra=UNIQUE,
    )
    exclude_calendar: CalendarSpec | None = Field(
        default=None,
        description="Local days on which it does not open, by the events of a calendar file.",
    )
    _holidays: tuple[Holiday, ...] = PrivateAttr(default=())

    def with_holidays(self, holidays: tuple[Holiday, ...]) -> Self:
        """With the events of its calendar file, which the file itself does not hold."""
        spec = self.exclude_calendar
        zone = spec.time_zone or "" if spec is not None else ""
        made = self.model_copy()
        found = tuple(replace(each, zone=each.zone or zone) for each in holidays)
        made._holidays = found  # noqa: SLF001 - of the copy
        return made

    def schedule(self, zone: str | None) -> Schedule:
        """The calendar's value; `zone` is the cluster's time zone."""
        return Schedule(
            start=datetime.fromisoformat(self.start),
            time_zone=self.time_zone or zone or "",
            duration=self.duration,
            recurrence=self.recurrence or "",
            exclude=tuple(map(date.fromisoformat, self.exclude)),
            holidays=self._holidays,
        )


def schedule_of(spec: Value) -> ScheduleSpec | None:
    """The schedule of a spec of any kind: its field `schedule`."""
    found = getattr(spec, "schedule", None)
    return found if isinstance(found, ScheduleSpec) else None


def calendar_of(spec: Value) -> CalendarSpec | None:
    """The calendar file that a spec of any kind applies by: its field `calendar`."""
    found = getattr(spec, "calendar", None)
    return found if isinstance(found, CalendarSpec) else None


@lru_cache(maxsize=4096)
def problems_of(schedule: Schedule) -> tuple[Problem, ...]:
    """The calendar's problems with a schedule. Cached, because requests repeat the question."""
    return check_schedule(schedule)


def is_sound(schedule: Schedule) -> bool:
    return all(problem.severity is not Severity.ERROR for problem in problems_of(schedule))


def check_times(report: Report, path: Path, spec: ScheduleSpec, zone: str | None) -> None:
    """Report the calendar's problems with a well-formed schedule.

    Start in a gap, overlapping or lost or doubled occurrences, a recurrence that never occurs, no
    time zone.
    """
    for problem in problems_of(spec.schedule(zone)):
        _report(report, path, problem)


# What each of the calendar's codes found (before the colon) and expected.
_WORDS = {
    "calendar/start-in-gap": ("a start in a gap", "a time that exists"),
    "calendar/never-occurs": ("a schedule without occurrence", "at least one"),
    "calendar/overlap": ("occurrences that overlap", "a shorter duration"),
    "calendar/start-repeated": ("an ambiguous start", "a time that occurs once"),
    "calendar/occurrence-lost": ("an occurrence that is lost", "one that happens"),
    "calendar/occurrence-repeated": ("an ambiguous occurrence", "one that happens once"),
    "calendar/excludes-nothing": ("an exclusion of nothing", "the day of an occurrence"),
}


def _message(problem: Problem) -> str:
    if problem.code not in _WORDS:
        return problem.message
    found, expected = _WORDS[problem.code]
    return f"found {found} ({problem.message}), expected {expected}"


def _report(report: Report, path: Path, problem: Problem) -> None:
    below: Path = (*path, problem.field)
    if problem.index is not None:
        below = (*below, problem.index)
    missing = value_at(report.document.value, below) is None
    report.add_foreign(
        report.document.positions.key(path) if missing else report.document.positions.value(below),
        below,
        code=problem.code,
        severity=problem.severity,
        message=_message(problem),
        hint=problem.hint.replace("expected at most", "write at most"),
    )
