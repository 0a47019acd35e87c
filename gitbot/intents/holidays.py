"""Freezes by calendar file: the events of files beside the intents, and when a freeze is on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitbot.calendar import Holiday, occurrences, read_calendar
from gitbot.documents import TOP, Path, Position, finding_at, shown
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.freeze_window import CalendarSpec, FreezeWindowSpec
from gitbot.intents.schedules import is_sound
from gitbot.model.canonical import digest
from gitbot.model.findings import Finding
from gitbot.model.instants import FOREVER, Interval
from gitbot.model.words import nearest

ALWAYS = Interval(start=0, end=FOREVER)
MOST = 500
_PATH: Path = ("spec", "calendar", "path")
_BYTES = 1024 * 1024


def with_holidays(
    intents: Iterable[Intent], files: Mapping[str, bytes], cluster: str, zone: str | None
) -> tuple[list[Intent], list[Finding]]:
    """The intents, each freeze with the events of its calendar file, and what is wrong in these.

    `files` maps repository paths to contents; a calendar lies below `intents/<cluster>/`.
    """
    folder = f"intents/{cluster}/"
    known = sorted(path.removeprefix(folder) for path in files if path.endswith(".ics"))
    done: list[Intent] = []
    findings: list[Finding] = []
    for intent in intents:
        spec = intent.spec.calendar if isinstance(intent.spec, FreezeWindowSpec) else None
        if spec is None:
            done.append(intent)
            continue
        data = files.get(folder + spec.path) if spec.path in known else None
        holidays, found = _read(intent, spec, data, known, folder + spec.path)
        findings += [*found, *_zone(intent, spec, holidays, zone)]
        whole = [digest(intent.spec.plain()), digest((data or b"").decode("latin-1"))]
        made = replace(intent, holidays=holidays)
        done.append(replace(made, spec_digest=digest(whole)))
    return done, findings


def _read(
    intent: Intent, spec: CalendarSpec, data: bytes | None, known: list[str], file: str
) -> tuple[tuple[Holiday, ...], list[Finding]]:
    place = intent.positions.value(_PATH)
    if data is None:
        near = nearest(spec.path, known)
        hint = f"did you mean {near}?" if near else "commit the file there"
        message = f"found {shown(spec.path)}, expected an .ics file below {_folder(file, spec)}"
        code = "intents/calendar-file"
        return (), [finding_at(intent.ref.file, place, code, message, hint, path=_PATH)]
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
    hint = "give timeZone here, or for the cluster in .gitbot.yaml"
    path: Path = ("spec", "calendar")
    place = intent.positions.key(path)
    return [finding_at(intent.ref.file, place, "calendar/missing-zone", message, hint, path=path)]


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
