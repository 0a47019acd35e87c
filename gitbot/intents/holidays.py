"""Calendar files beside the intents: when a freeze is on, and the days that schedules leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitbot.calendar import Holiday, occurrences, read_calendar
from gitbot.documents import TOP, Path, Position, finding_at, shown
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.schedules import CalendarSpec, calendar_of, is_sound, problems_of, schedule_of
from gitbot.model.plan.findings import Finding
from gitbot.model.text.canonical import digest
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.model.text.wording import nearest

ALWAYS = Interval(start=0, end=FOREVER)
MOST = 500
_CALENDAR: Path = ("spec", "calendar")
_EXCLUDED: Path = ("spec", "schedule", "excludeCalendar")
_BYTES = 1024 * 1024


def with_holidays(
    intents: Iterable[Intent], files: Mapping[str, bytes], cluster: str, zone: str | None
) -> tuple[list[Intent], list[Finding]]:
    """The intents, each with the events of its calendar file, and what is wrong in these.

    `files` maps repository paths to contents; a calendar lies below `intents/<cluster>/`.
    """
    folder = f"intents/{cluster}/"
    known = sorted(path.removeprefix(folder) for path in files if path.endswith(".ics"))
    done: list[Intent] = []
    findings: list[Finding] = []
    for intent in intents:
        spec, path = _calendar(intent)
        if spec is None:
            done.append(intent)
            continue
        data = files.get(folder + spec.path) if spec.path in known else None
        holidays, found = _read(intent, (spec, path), data, known, folder + spec.path)
        whole = [digest(intent.spec.plain()), digest((data or b"").decode("latin-1"))]
        made = replace(intent, holidays=holidays)
        if path == _CALENDAR:
            found += _zone(intent, spec, holidays, zone)
        elif not found:
            made = _excluding(intent, holidays)
            found = _never(made, zone)
        findings += found
        done.append(replace(made, spec_digest=digest(whole)))
    return done, findings


def _calendar(intent: Intent) -> tuple[CalendarSpec | None, Path]:
    """The calendar file that an intent names, and where."""
    calendar, schedule = calendar_of(intent.spec), schedule_of(intent.spec)
    if calendar is not None:
        return calendar, _CALENDAR
    return (schedule.exclude_calendar, _EXCLUDED) if schedule is not None else (None, ())


def _excluding(intent: Intent, holidays: tuple[Holiday, ...]) -> Intent:
    """The intent whose schedule leaves out the days of the file."""
    schedule = schedule_of(intent.spec)
    assert schedule is not None, "BUG: no schedule"
    update = {"schedule": schedule.with_holidays(holidays)}
    return replace(intent, spec=intent.spec.model_copy(update=update))


def _never(intent: Intent, zone: str | None) -> list[Finding]:
    """An error if the days of the file leave no occurrence."""
    schedule = schedule_of(intent.spec)
    plain = schedule.schedule(zone) if schedule is not None else None
    if plain is None or not is_sound(replace(plain, holidays=())):
        return []  # reported where it is written
    return [
        finding_at(
            intent.ref.file,
            intent.positions.value((*_EXCLUDED, "path")),
            each.code,
            f"found days that leave no occurrence ({each.message}), expected at least one",
            hint="change the schedule, or the file",
            path=(*_EXCLUDED, "path"),
        )
        for each in problems_of(plain)
        if each.code == "calendar/never-occurs"
    ]


def _read(
    intent: Intent,
    named: tuple[CalendarSpec, Path],
    data: bytes | None,
    known: list[str],
    file: str,
) -> tuple[tuple[Holiday, ...], list[Finding]]:
    spec, path = named[0], (*named[1], "path")
    place = intent.positions.value(path)
    if data is None:
        near = nearest(spec.path, known)
        hint = f"did you mean {near}?" if near else "commit the file there"
        message = f"found {shown(spec.path)}, expected an .ics file below {_folder(file, spec)}"
        code = "intents/calendar-file"
        return (), [finding_at(intent.ref.file, place, code, message, hint, path=path)]
    if len(data) > _BYTES:
        message = f"found {len(data)} bytes in {file}, expected at most {_BYTES}"
        return (), [finding_at(file, TOP, "calendar/file", message, "split it")]
    holidays, problems = read_calendar(data)
    return holidays, [
        finding_at(
            file, Position(line=each.line, column=1), each.code, each.message, hint=each.hint
        )
        for each in problems
    ]


def _folder(file: str, spec: CalendarSpec) -> str:
    return file.removesuffix(spec.path)


def _zone(
    intent: Intent, spec: CalendarSpec, holidays: tuple[Holiday, ...], zone: str | None
) -> list[Finding]:
    if spec.time_zone or zone or all(each.zone for each in holidays):
        return []
    message = "found days without a time zone, expected an IANA name such as Europe/Madrid"
    hint = f"give timeZone here, or for the cluster in {CONFIGURATION_FILE}"
    place = intent.positions.key(_CALENDAR)
    code = "calendar/missing-zone"
    return [finding_at(intent.ref.file, place, code, message, hint, path=_CALENDAR)]


def freeze_times(
    intent: Intent, spec: FreezeWindowSpec, *, zone: str | None, after: int, before: int
) -> tuple[Interval, ...] | None:
    """When a freeze is on within [after, before), at most MOST times; None if it cannot be said.

    Always, if it has neither a schedule nor a calendar.
    """
    if spec.calendar is not None:
        where = spec.calendar.time_zone or zone or "UTC"
        found = sorted(
            time
            for each in intent.holidays
            for time in each.times(where, after=after, before=before)
        )
        return tuple(found[:MOST])
    if spec.schedule is None:
        return (ALWAYS,)
    plain = spec.schedule.schedule(zone)
    if not is_sound(plain):
        return None
    ahead = occurrences(plain, after=after, before=before)
    return tuple(each.interval for each in ahead[:MOST])
