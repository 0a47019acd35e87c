"""Schedules of windows and freezes: local start, zone, duration, recurrence, excluded days."""

from __future__ import annotations

from pydantic import Field

from gitbot.calendar import Problem, Schedule, check_schedule
from gitbot.documents.decoding import Report, value_at
from gitbot.documents.positions import Path
from gitbot.intents.fields import UNIQUE, Duration, LocalDate, LocalTime, Text, TimeZone, Value


class ScheduleSpec(Value):
    """When something is open. Without recurrence it opens once."""

    start: LocalTime = Field(
        description="Local time without offset, in quotes: when it opens (first)."
    )
    time_zone: TimeZone | None = Field(
        default=None, description="IANA zone; default: the cluster's timeZone."
    )
    duration: Duration = Field(description="How long it is open, exactly (DST changes nothing).")
    recurrence: Text | None = Field(
        default=None,
        description="RFC 5545 recurrence rule, as FREQ=MONTHLY;BYDAY=1SU; absent: once.",
        examples=["FREQ=MONTHLY;BYDAY=1SU", "FREQ=WEEKLY;BYDAY=SU"],
    )
    exclude: tuple[LocalDate, ...] = Field(
        default=(),
        strict=False,
        description="Local days on which it does not open.",
        json_schema_extra=UNIQUE,
    )

    def schedule(self, zone: str | None) -> Schedule:
        """The schedule as the calendar takes it; `zone` is the cluster's time zone."""
        return Schedule(
            start=self.start,
            time_zone=self.time_zone or zone or "",
            duration=f"PT{self.duration}S",
            recurrence=self.recurrence or "",
            exclude=self.exclude,
        )


def check_times(report: Report, path: Path, spec: ScheduleSpec, zone: str | None) -> None:
    """Report what the calendar finds wrong with a schedule that is well-formed.

    Start in a gap, overlapping or lost or doubled occurrences, a recurrence that never occurs, no
    time zone.
    """
    for problem in check_schedule(spec.schedule(zone)):
        _report(report, path, problem)


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
        message=problem.message,
        hint=problem.hint,
    )
