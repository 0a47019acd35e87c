"""What is wrong with a schedule, field by field, without a clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from gitbot.calendar.recurrence import check_rule, expand, repeats_after
from gitbot.calendar.schedule import Schedule
from gitbot.calendar.text import format_duration, parse_date, parse_duration, parse_local
from gitbot.calendar.zones import LocalKind, check_zone, resolve
from gitbot.model.findings import Severity

_CHECKED = 3_000
"""At most so many occurrences from the start on are looked at, excluded ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a schedule.

    `field` is the key in the document (`start`, `timeZone`, `duration`, `recurrence`, `exclude`),
    `index` the place in the list `exclude`, else None. `code` is a finding code.
    """

    field: str
    code: str
    severity: Severity
    message: str
    hint: str = ""
    index: int | None = None


def check_schedule(schedule: Schedule) -> tuple[Problem, ...]:
    """All problems. Where a field cannot be read, what depends on it is not judged."""
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
    try:
        parse_local(schedule.start)
    except ValueError as error:
        yield _error("start", "invalid-start", _said(schedule.start, error))
    if not schedule.time_zone:
        yield _error(
            "timeZone",
            "missing-zone",
            "found no time zone, expected an IANA name such as Europe/Madrid",
            "give timeZone here, or for the cluster in .gitbot.yaml",
        )
    else:
        message, _, hint = check_zone(schedule.time_zone).partition("; ")
        if message:
            yield _error("timeZone", "unknown-zone", message, hint)
    try:
        if parse_duration(schedule.duration) == 0:
            yield _error(
                "duration", "empty-duration", "found no time, expected a positive duration"
            )
    except ValueError as error:
        yield _error("duration", "invalid-duration", _said(schedule.duration, error))
    problem = check_rule(schedule.recurrence) if schedule.recurrence else ""
    if problem:
        yield _error("recurrence", "invalid-recurrence", problem)
    yield from _exclude_problems(schedule)


def _exclude_problems(schedule: Schedule) -> Iterator[Problem]:
    for index, text in enumerate(schedule.exclude):
        try:
            parse_date(text)
        except ValueError as error:
            yield _error("exclude", "invalid-exclude", _said(text, error), index=index)
        if text in schedule.exclude[:index]:
            yield _error("exclude", "repeated-exclude", f"found {text} twice", index=index)


def _said(text: str, error: ValueError) -> str:
    said = str(error)
    return said if said.startswith("found") else f"found {text!r}, {said}"


def _fixed_problems(schedule: Schedule) -> Iterator[Problem]:
    start = parse_local(schedule.start)
    _, kind = resolve(start, schedule.time_zone)
    if kind is LocalKind.SKIPPED:
        yield _error(
            "start",
            "start-in-gap",
            f"{schedule.start} does not exist in {schedule.time_zone}: clocks go forward over it",
            "choose a time before or after the change",
        )
    elif kind is LocalKind.REPEATED:
        yield _warning(
            "start",
            "start-repeated",
            f"{schedule.start} occurs twice in {schedule.time_zone}: the first counts",
        )
    for index, text in enumerate(schedule.exclude):
        if parse_date(text) == start.date():
            yield _error(
                "exclude", "never-occurs", f"{text} excludes the only occurrence", "", index
            )
        else:
            yield _useless_exclude(text, index)


def _recurrence_problems(schedule: Schedule) -> Iterator[Problem]:
    moments = _moments(schedule)
    excluded = {parse_date(text) for text in schedule.exclude}
    checked = [local for local in moments if local.date() not in excluded]
    kinds = [(local, *resolve(local, schedule.time_zone)) for local in checked]
    real = [(local, start) for local, start, kind in kinds if kind is not LocalKind.SKIPPED]
    if not real:
        yield _error(
            "recurrence",
            "never-occurs",
            f"{schedule.recurrence} never occurs from {schedule.start} on",
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
    """The occurrences of the rule that are looked at, excluded ones included.

    From the first one on until nothing new can come (see `repeats_after`) and the last exclude is
    passed; and one more, since that gap counts too.
    """
    every = expand(schedule.recurrence, parse_local(schedule.start), schedule.time_zone)
    years = repeats_after(schedule.recurrence)
    last_exclude = max((parse_date(text) for text in schedule.exclude), default=date.min)
    found: list[datetime] = []
    for local in itertools.islice(every, _CHECKED):
        found.append(local)
        if local.year > found[0].year + years and local.date() > last_exclude:
            break
    return found


def _overlap(schedule: Schedule, real: list[tuple[datetime, int]]) -> Iterator[Problem]:
    duration = parse_duration(schedule.duration)
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
    for index, text in enumerate(schedule.exclude):
        day = parse_date(text)
        if day not in dates and (last is None or day <= last):
            yield _useless_exclude(text, index)


def _useless_exclude(text: str, index: int) -> Problem:
    return _warning("exclude", "excludes-nothing", f"no occurrence starts on {text}", index)


def _shown(local: datetime) -> str:
    return f"{local:%Y-%m-%dT%H:%M}"
