"""Errors of a schedule whose fields are readable, found without a clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from gitbot.calendar.recurrence import check_rule, expand, repeats_after
from gitbot.calendar.schedule import Schedule
from gitbot.calendar.time_formats import format_duration
from gitbot.calendar.zones import LocalKind, resolve
from gitbot.model.plan.findings import Severity
from gitbot.model.text.names import CONFIGURATION_FILE

FIRST_YEAR = 2000
LAST_YEAR = 2199
_CHECKED = 3_000
"""Most occurrences that are checked from the start on, excluded ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One error of a schedule.

    `field` is the key in the document (`start`, `timeZone`, `duration`, `recurrence`, `exclude`),
    `index` the position in the list `exclude`, else None. `code` is a finding code.
    """

    field: str
    code: str
    severity: Severity
    message: str
    hint: str = ""
    index: int | None = None


def check_schedule(schedule: Schedule) -> tuple[Problem, ...]:
    """All errors. If a field is unreadable, checks that depend on it are skipped."""
    problems = tuple(_field_problems(schedule))
    if problems:
        return problems
    if not schedule.recurrence:
        return tuple(_fixed_problems(schedule))
    return tuple(_recurrence_problems(schedule))


def _error(
    field: str, code: str, message: str, hint: str = "", index: int | None = None
) -> Problem:
    return Problem(
        field=field,
        code=f"calendar/{code}",
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        index=index,
    )


def _warning(field: str, code: str, message: str, index: int | None = None) -> Problem:
    return Problem(
        field=field,
        code=f"calendar/{code}",
        severity=Severity.WARNING,
        message=message,
        index=index,
    )


def _field_problems(schedule: Schedule) -> Iterator[Problem]:
    if message := _unread_year(schedule.start.year):
        yield _error("start", "invalid-start", message)
    if not schedule.time_zone:
        yield _error(
            "timeZone",
            "missing-zone",
            "found no time zone, expected an IANA name such as Europe/Madrid",
            f"give timeZone here, or for the cluster in {CONFIGURATION_FILE}",
        )
    problem = check_rule(schedule.recurrence) if schedule.recurrence else ""
    if problem:
        yield _error("recurrence", "invalid-recurrence", problem)
    for index, day in enumerate(schedule.exclude):
        if message := _unread_year(day.year):
            yield _error("exclude", "invalid-exclude", message, index=index)


def _unread_year(year: int) -> str:
    if FIRST_YEAR <= year <= LAST_YEAR:
        return ""
    return f"found year {year}, expected {FIRST_YEAR} to {LAST_YEAR}"


def _fixed_problems(schedule: Schedule) -> Iterator[Problem]:
    _, kind = resolve(schedule.start, schedule.time_zone)
    start = schedule.start.isoformat()
    if kind is LocalKind.SKIPPED:
        yield _error(
            "start",
            "start-in-gap",
            f"{start} does not exist in {schedule.time_zone}: clocks go forward over it",
            "choose a time before or after the change",
        )
    elif kind is LocalKind.REPEATED:
        yield _warning(
            "start",
            "start-repeated",
            f"{start} occurs twice in {schedule.time_zone}: the first counts",
        )
    first = schedule.start.date()
    if first not in schedule.exclude and (why := schedule.left_out(first)):
        yield _error("excludeCalendar", "never-occurs", f"{first}: {why}")
    for index, day in enumerate(schedule.exclude):
        if day == schedule.start.date():
            yield _error(
                "exclude", "never-occurs", f"{day} excludes the only occurrence", "", index
            )
        else:
            yield _useless_exclude(day, index)


def _recurrence_problems(schedule: Schedule) -> Iterator[Problem]:
    moments = _moments(schedule)
    checked = [local for local in moments if not schedule.left_out(local.date())]
    kinds = [(local, *resolve(local, schedule.time_zone)) for local in checked]
    real = [(local, start) for local, start, kind in kinds if kind is not LocalKind.SKIPPED]
    if not real:
        yield _error(
            "recurrence",
            "never-occurs",
            f"{schedule.recurrence} never occurs from {schedule.start.isoformat()} on",
            "change the rule, start or exclude",
        )
        return
    yield from _overlap(schedule, real)
    for kind, code, what in (
        (LocalKind.SKIPPED, "occurrence-lost", "does not exist (clocks go forward): it is lost"),
        (
            LocalKind.REPEATED,
            "occurrence-repeated",
            "occurs twice (clocks go back): only the first counts",
        ),
    ):
        lost = [local for local, _, found in kinds if found is kind]
        if lost:
            more = f", and {len(lost) - 1} more until {lost[-1].year}" if len(lost) > 1 else ""
            yield _warning(
                "recurrence",
                code,
                f"the occurrence of {_shown(lost[0])} {schedule.time_zone} {what}{more}",
            )
    yield from _useless_excludes(schedule, moments)


def _moments(schedule: Schedule) -> list[datetime]:
    """The occurrences of the rule to check, excluded ones included.

    They start with the first one and end when nothing new can follow (see `repeats_after`) and the
    last exclude has passed. One more is added, because the gap before it counts, too.
    """
    every = expand(schedule.recurrence, schedule.start, schedule.time_zone)
    years = repeats_after(schedule.recurrence)
    last_exclude = max(schedule.exclude, default=date.min)
    found: list[datetime] = []
    for local in itertools.islice(every, _CHECKED):
        found.append(local)
        if local.year > found[0].year + years and local.date() > last_exclude:
            break
    return found


def _overlap(schedule: Schedule, real: list[tuple[datetime, int]]) -> Iterator[Problem]:
    duration = schedule.duration
    for (first, start), (second, following) in itertools.pairwise(real):
        if following - start < duration:
            yield _error(
                "duration",
                "overlap",
                f"the occurrence of {_shown(first)} lasts {format_duration(duration)} and runs "
                f"into the next one of {_shown(second)}",
                f"expected at most {format_duration(following - start)}",
            )
            return


def _useless_excludes(schedule: Schedule, moments: list[datetime]) -> Iterator[Problem]:
    last = moments[-1].date() if len(moments) == _CHECKED else None
    dates = {moment.date() for moment in moments}
    for index, day in enumerate(schedule.exclude):
        if day not in dates and (last is None or day <= last):
            yield _useless_exclude(day, index)


def _useless_exclude(day: date, index: int) -> Problem:
    return _warning("exclude", "excludes-nothing", f"no occurrence starts on {day}", index)


def _shown(local: datetime) -> str:
    return f"{local:%Y-%m-%dT%H:%M}"
