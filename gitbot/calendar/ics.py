"""Calendar files (RFC 5545): writes appointments, reads holidays. Only it imports `icalendar`."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from gitbot.calendar.events import Appointment, span_words
from gitbot.calendar.ics_zones import FileZones, wall
from gitbot.calendar.recurrence import check_rule, expand, skip_to
from gitbot.calendar.zones import clock_time, resolve
from gitbot.model.text.instants import Interval

MOST_EVENTS = 5_000
_MOST_TIMES = 20_000  # of all events of a file in one year; of one event in one call
_YEARS = range(1900, 3000)
_Event = tuple[int, Any, FileZones]  # its line, itself, and the zones of its calendar
_PRODUCT = "-//gitbot//gitbot calendar//EN"


def calendar_file(appointments: Iterable[Appointment], *, cluster: str, now: int) -> bytes:
    """A calendar file. The same opening has the same UID in every export."""
    from icalendar import Calendar  # noqa: PLC0415 - only where a calendar file is written

    calendar = Calendar()
    for name, value in (
        ("prodid", _PRODUCT),
        ("version", "2.0"),
        ("x-wr-calname", f"gitbot {cluster}"),
    ):
        calendar.add(name, value)
    for each in appointments:
        if not each.always and each.time.start:
            calendar.add_component(_event(each, cluster, now))
    written: bytes = calendar.to_ical()
    return written


def _event(each: Appointment, cluster: str, now: int) -> Any:
    from icalendar import Event  # noqa: PLC0415 - only where a calendar file is written

    event = Event()
    start = each.id or f"{each.time.start}"
    event.add("uid", f"{each.kind}-{each.name.replace('/', '-')}-{start}@{cluster}.gitbot")
    event.add("dtstamp", _utc(now))
    event.add("dtstart", _utc(each.time.start))
    event.add("dtend", _utc(each.time.end))
    event.add("summary", f"{each.kind} {each.name}" + (f" ({each.what})" if each.what else ""))
    words = [
        span_words(each, now=now),
        each.frozen,
        each.cancelled and f"cancelled: {each.cancelled}",
    ]
    event.add("description", "\n".join([*filter(None, words), each.file]))
    event.add("status", "CANCELLED" if each.cancelled else "CONFIRMED")
    event.add("transp", "TRANSPARENT")
    if each.announced and not each.cancelled:
        event.add_component(_alarm(each))
    return event


def _alarm(each: Appointment) -> Any:
    from icalendar import Alarm  # noqa: PLC0415 - only where a calendar file is written

    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", f"gitbot proposes the drain of {each.name}")
    alarm.add("trigger", timedelta(seconds=each.announced - each.time.start))
    return alarm


def _utc(instant: int) -> datetime:
    return datetime.fromtimestamp(instant, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """An error at a line of a calendar file; `line` counts from 1."""

    line: int
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holiday:
    """An event of a calendar file, `start` and `end` in local time of its zone; "" is the reader's.

    It ends at that local time; a recurring one has the exact duration of the first.
    """

    summary: str
    start: datetime
    end: datetime
    whole_days: bool
    zone: str = ""
    recurrence: str = ""
    exclude: frozenset[datetime] = frozenset()

    def times(self, zone: str, *, after: int, before: int) -> Iterator[Interval]:
        """The intervals that overlap [after, before), oldest first."""
        where = self.zone or zone
        length = self.end - self.start
        begin = clock_time(after, where) - length - timedelta(days=2)
        for local in itertools.islice(self._moments(where, begin), _MOST_TIMES):
            start = resolve(local, where)[0]
            if start >= before:
                return
            end = start + int(length.total_seconds())
            if self.whole_days or not self.recurrence:
                end = resolve(local + length, where)[0]
            if end > after and local not in self.exclude:
                yield Interval(start=start, end=end)

    def _moments(self, zone: str, begin: datetime) -> Iterable[datetime]:
        if not self.recurrence:
            return (self.start,)
        return expand(self.recurrence, skip_to(self.recurrence, self.start, begin), zone)

    def times_a_year(self) -> int:
        """The number of times in its first year, or in total if the rule has a count; bounded."""
        found = itertools.islice(self._moments("UTC", self.start), _MOST_TIMES)
        counted = "COUNT=" in self.recurrence
        until = self.start + timedelta(days=366)
        return sum(1 for _ in itertools.takewhile(lambda at: counted or at < until, found))


def read_calendar(data: bytes) -> tuple[tuple[Holiday, ...], tuple[FileProblem, ...]]:
    """The events of a calendar file, and its errors. Cancelled events are left out."""
    from icalendar import Calendar  # noqa: PLC0415 - only where a calendar file is read

    lines = [
        number
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip().upper() == b"BEGIN:VEVENT"
    ]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names of zones; `FileZones` judges them
            whole = Calendar.from_ical(data, multiple=True)
        events = [(event, _zones(each)) for each in whole for event in each.walk("VEVENT")]
    except (ValueError, KeyError, IndexError) as error:
        return (), (_unreadable(data, error),)
    if not 0 < len(events) <= MOST_EVENTS or len(events) != len(lines):
        found = f"found {len(events) or 'no'} whole events, expected 1 to {MOST_EVENTS}"
        found += f" and one for each of {len(lines)} BEGIN:VEVENT" if lines else ""
        hint = "export the calendar again, or remove the field that names it"
        return (), (FileProblem(line=1, code="calendar/file", message=found, hint=hint),)
    return _read_events([(line, *each) for line, each in zip(lines, events, strict=True)])


def _zones(calendar: Any) -> FileZones:
    return FileZones(defined={str(it.get("TZID")): it for it in calendar.walk("VTIMEZONE")})


def _read_events(
    events: Sequence[_Event],
) -> tuple[tuple[Holiday, ...], tuple[FileProblem, ...]]:
    holidays, problems = list[Holiday](), list[FileProblem]()
    moved, times = _moved(events), 0
    for line, event, zones in _newest(events):
        try:
            if event.get("STATUS") != "CANCELLED":
                given = moved[str(event.get("UID"))] if "RECURRENCE-ID" not in event else []
                found = list(_holidays(event, zones, given))
                times += sum(each.times_a_year() for each in found)
                holidays += found
                if times > _MOST_TIMES:
                    many = f"found more than {_MOST_TIMES} times a year in the file until here"
                    problems.append(_wrong(line, event, ValueError(f"{many}, expected fewer")))
                    break
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
            problems.append(_wrong(line, event, error))
    return tuple(holidays), tuple(problems)


def _newest(events: Sequence[_Event]) -> list[_Event]:
    """The last revision of each event (RFC 5546, section 2.1.5); the others are not read."""
    last: dict[object, int] = {}
    for place, (_, event, _zones) in enumerate(events):
        name = _identity(event, place)
        if _sequence(events[last.get(name, place)][1]) <= _sequence(event):
            last[name] = place
    return [each for place, each in enumerate(events) if last[_identity(each[1], place)] == place]


def _identity(event: Any, place: int) -> object:
    if "SEQUENCE" not in event or "UID" not in event:
        return place
    found = event.get("RECURRENCE-ID")
    return str(event["UID"]), found and str(found.to_ical())


def _sequence(event: Any) -> int:
    return int(event.get("SEQUENCE", 0))


def _moved(events: Iterable[_Event]) -> defaultdict[str, list[Any]]:
    """By UID the times of recurring events that an event of their own replaces or cancels."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for _, event, _zones in events:
        if "RECURRENCE-ID" in event and not isinstance(event["RECURRENCE-ID"], list):
            found[str(event.get("UID"))].append(event["RECURRENCE-ID"])
    return found


def _unreadable(data: bytes, error: Exception) -> FileProblem:
    """Reports the first line without `NAME:VALUE`, else the first line."""
    bad = (
        number
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip()
        and not line.startswith((b" ", b"\t"))
        and not re.match(rb"[\w-]+[;:]", line)
    )
    return FileProblem(
        line=next(bad, 1),
        code="calendar/file",
        message=f"found what is not a calendar ({error}), expected iCalendar (RFC 5545)",
        hint="export it as .ics again: BEGIN:VCALENDAR ... END:VCALENDAR, every line NAME:VALUE",
    )


def _wrong(line: int, event: Any, error: Exception) -> FileProblem:
    name = str(event.get("SUMMARY", "") or event.get("UID", "") or "an event without a name")
    return FileProblem(
        line=line,
        code="calendar/event",
        message=f"found the event {name[:80]!r} that gitbot cannot read: {error}",
        hint="correct the event, or remove it",
    )


def _holidays(event: Any, zones: FileZones, moved: Sequence[Any]) -> Iterator[Holiday]:
    """The event with its further dates; without `moved` times, which are events of their own.

    An event of no length gives none. Raises ValueError with what was found and expected.
    """
    _check(event)
    start, given = _moment(event, "DTSTART")
    zone, first, whole = zones.zone(start, given), wall(start), not isinstance(start, datetime)
    length = timedelta(days=1) if whole else timedelta(0)
    if "DURATION" in event:
        length = event["DURATION"].dt
    elif "DTEND" in event:
        length = zones.local(*_moment(event, "DTEND"), zone) - first or length
    if length < timedelta(0):
        raise ValueError("found DTEND before DTSTART, expected an end after the start")
    recurrence = event["RRULE"].to_ical().decode("ascii") if "RRULE" in event else ""
    if recurrence and (problem := check_rule(recurrence)):
        raise ValueError(f"RRULE: {problem}")
    last = first + length
    if first.year not in _YEARS or last.year not in _YEARS:
        expected = f"expected {_YEARS[0]} to {_YEARS[-1]}"
        raise ValueError(f"found the years {first.year} to {last.year}, {expected}")
    gone = {zones.local(each.dt, each.params, zone) for each in moved}
    gone |= {zones.local(each, given, zone) for each, given in _dates(event, "EXDATE")}
    holiday = Holiday(
        summary=_printable(str(event.get("SUMMARY", ""))),
        start=first,
        end=last,
        whole_days=whole,
        zone=zone,
        recurrence=recurrence,
        exclude=frozenset(gone),
    )
    if length:
        yield holiday
    for each, given in _dates(event, "RDATE"):
        yield from _further(holiday, each, given, zones)


def _further(
    holiday: Holiday, added: Any, given: Mapping[str, Any], zones: FileZones
) -> Iterator[Holiday]:
    """The event at an added date; a period has an own end."""
    begin, until = added if isinstance(added, tuple) else (added, None)
    start = zones.local(begin, given, holiday.zone)
    end = start + (holiday.end - holiday.start)
    if until is not None:
        own = isinstance(until, timedelta)
        end = start + until if own else zones.local(until, given, holiday.zone)
    if end > start and start != holiday.start:
        yield replace(holiday, start=start, end=end, recurrence="")


def _moment(event: Any, name: str) -> tuple[date, Mapping[str, Any]]:
    """A date or time with its parameters. Some programs give dates a zone, which means nothing."""
    moment, given = event[name].dt, event[name].params
    if isinstance(moment, datetime) and given.get("VALUE") == "DATE":
        return moment.date(), given
    return moment, given


def _check(event: Any) -> None:
    if event.errors:
        raise ValueError("; ".join(f"{name}: {why}" for name, why in event.errors))
    for name in ("DTSTART", "DTEND", "DURATION", "RRULE", "SUMMARY", "STATUS", "RECURRENCE-ID"):
        if isinstance(event.get(name), list):
            raise ValueError(f"found two {name}, expected one")  # noqa: TRY004 - of the file
    if "DTSTART" not in event:
        raise ValueError("found no DTSTART, expected a date or a time")
    moved = event.get("RECURRENCE-ID")
    if moved is not None and "RANGE" in moved.params:
        found = f"RECURRENCE-ID with RANGE={moved.params['RANGE']}"
        raise ValueError(
            f"found {found}, expected a change of one time only; end the series before that time "
            "(UNTIL in its RRULE), and write what follows as an event with a UID of its own"
        )


def _printable(text: str) -> str:
    """The text without characters that control a terminal, or reorder or hide text."""
    return " ".join("".join(it if it.isprintable() else " " for it in text).split())


def _dates(event: Any, name: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """The dates, times or periods of all lines of that name, with each line's parameters."""
    found = event.get(name, [])
    for each in found if isinstance(found, list) else [found]:
        yield from ((item.dt, each.params) for item in each.dts)
