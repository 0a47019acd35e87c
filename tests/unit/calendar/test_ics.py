"""Calendar files: what is written can be read anywhere, and what is read freezes to the second."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.calendar import Appointment, calendar_file, read_calendar
from gitbot.model.text.instants import FOREVER, Interval, format_instant, parse_instant

NOW = parse_instant("2026-12-01T00:00:00Z")
SUNDAY = Appointment(
    kind="window",
    name="firmware",
    time=Interval(start=NOW + 5 * 86_400, end=NOW + 5 * 86_400 + 14_400),
    zone="Europe/Madrid",
    id="20261206T000000Z",
    what="4 nodes",
    announced=NOW + 2 * 86_400,
    file="intents/prod/w.yaml:3",
)
GONE = replace(SUNDAY, name="gone", cancelled="the day is excluded")
ALWAYS = replace(SUNDAY, time=Interval(start=0, end=FOREVER))


def events(*appointments: Appointment, now: int = NOW) -> list[Any]:
    from icalendar import Calendar  # noqa: PLC0415 - as the product: only where a file is read

    data = calendar_file(appointments, cluster="prod", now=now)
    return list(Calendar.from_ical(data).walk("VEVENT"))


def test_an_opening_as_an_event_with_an_alarm_at_the_announcement() -> None:
    (event,) = events(SUNDAY, ALWAYS)
    assert event["UID"] == "window-firmware-20261206T000000Z@prod.gitbot"
    assert event["SUMMARY"] == "window firmware (4 nodes)"
    assert event["STATUS"] == "CONFIRMED"
    assert "Sun 6 Dec 01:00-05:00 Europe/Madrid" in event["DESCRIPTION"]
    assert (event.start.timestamp(), event.end.timestamp()) == (SUNDAY.time.start, SUNDAY.time.end)
    (alarm,) = event.walk("VALARM")
    assert event.start + alarm["TRIGGER"].dt == event.start.fromtimestamp(
        SUNDAY.announced, event.start.tzinfo
    )


def test_the_uid_stays_and_what_is_cancelled_says_so_without_an_alarm() -> None:
    assert events(SUNDAY)[0]["UID"] == events(SUNDAY, now=NOW + 86_400)[0]["UID"]
    (event,) = events(GONE)
    assert event["STATUS"] == "CANCELLED"
    assert event.walk("VALARM") == []


def calendar(*lines: str) -> bytes:
    return "\r\n".join(("BEGIN:VCALENDAR", *lines, "END:VCALENDAR", "")).encode()


def event_of(*lines: str) -> tuple[str, ...]:
    return ("BEGIN:VEVENT", "SUMMARY:S", *lines, "END:VEVENT")


READ = {
    # a day is that of the wall; the one on which clocks go forward has 23 hours
    ("DTSTART;VALUE=DATE:20270328",): ["2027-03-27T23:00:00Z 2027-03-28T22:00:00Z"],
    ("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261227"): [
        "2026-12-24T23:00:00Z 2026-12-26T23:00:00Z"
    ],
    ("DTSTART;VALUE=DATE:20251225", "RRULE:FREQ=YEARLY"): [
        "2026-12-24T23:00:00Z 2026-12-25T23:00:00Z",
        "2027-12-24T23:00:00Z 2027-12-25T23:00:00Z",
    ],
    ("DTSTART:20261225T100000Z", "DURATION:PT2H"): ["2026-12-25T10:00:00Z 2026-12-25T12:00:00Z"],
    ("DTSTART:20261225T100000", "DTEND:20261225T110000"): [
        "2026-12-25T09:00:00Z 2026-12-25T10:00:00Z"
    ],
    (
        "DTSTART;TZID=Asia/Tokyo:20261225T100000",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;COUNT=3",
        "EXDATE;TZID=Asia/Tokyo:20261226T100000",
    ): ["2026-12-25T01:00:00Z 2026-12-25T02:00:00Z", "2026-12-27T01:00:00Z 2026-12-27T02:00:00Z"],
    ("DTSTART:20261225T100000Z", "DURATION:PT2H", "STATUS:CANCELLED"): [],
    # a rule goes on, however many times lie behind
    (
        "DTSTART:19500101T100000Z",
        "DURATION:PT2H",
        "RRULE:FREQ=HOURLY;BYMONTH=12;BYMONTHDAY=25;BYHOUR=10",
        "EXDATE:20271225T100000Z",
    ): ["2026-12-25T10:00:00Z 2026-12-25T12:00:00Z"],
}


@pytest.mark.parametrize("lines", READ)
def test_events_freeze(lines: tuple[str, ...]) -> None:
    holidays, problems = read_calendar(calendar(*event_of(*lines)))
    assert problems == ()
    before = parse_instant("2028-01-01T00:00:00Z")
    assert [
        f"{format_instant(time.start)} {format_instant(time.end)}"
        for each in holidays
        for time in each.times("Europe/Madrid", after=NOW, before=before)
    ] == READ[lines]


REFUSED = {
    b"": (1, "found no whole events"),
    b"hello": (1, "found what is not a calendar"),
    calendar("VERSION:2.0", "no name and value"): (3, "found what is not a calendar"),
    calendar(*event_of("DTSTART:20261225T100000Z", "DURATION:PT1H"), "BEGIN:VEVENT"): (1, "found"),
    calendar(*event_of("DTSTART:2026-12-25")): (2, "Expected datetime, date, or time"),
    calendar(*event_of()): (2, "found no DTSTART"),
    calendar(*event_of("DTSTART:20261225T100000Z", "DTEND:20261225T090000Z")): (
        2,
        "found DTEND before",
    ),
    calendar(*event_of("DTSTART:20261225T100000Z", "DURATION:PT1H", "RRULE:FREQ=SECONDLY")): (
        2,
        "RRULE: found SECONDLY",
    ),
    calendar(*event_of("DTSTART;TZID=Romantic Standard Time:20261225T100000", "DURATION:PT1H")): (
        2,
        "expected an IANA name",
    ),
    calendar(*event_of("DTSTART:20261225T100000Z", "DURATION:P999999999D")): (2, "out of range"),
    calendar(*event_of("DTSTART;VALUE=DATE:99991231")): (2, "out of range"),
    calendar(*event_of("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:99991231")): (
        2,
        "found the years 2026 to 9999, expected 1900 to 2999",
    ),
    calendar(*event_of("DTSTART;TZID=Asia/Tokyo:00010101T000000", "DURATION:PT1H")): (
        2,
        "found the years 1 to 1",
    ),
    calendar(*event_of("DTSTART:20261225T100000Z", "DURATION:PT1H", "DURATION:PT2H")): (
        2,
        "found two DURATION",
    ),
    calendar(
        *event_of("DTSTART:20000101T000000Z", "DURATION:PT1M", "RRULE:FREQ=HOURLY;COUNT=10000"),
        *event_of("DTSTART:20000101T000000Z", "DURATION:PT1M", "RRULE:FREQ=HOURLY") * 4_000,
    ): (14, "found more than 20000 times a year in the file until here"),
}


@pytest.mark.parametrize("data", REFUSED)
def test_what_cannot_be_read_has_its_line(data: bytes) -> None:
    (problem,) = read_calendar(data)[1]
    line, words = REFUSED[data]
    assert problem.line == line, problem
    assert words in problem.message
    assert problem.hint


def test_a_summary_controls_no_terminal_and_breaks_no_line() -> None:
    said = "S\x1b[31m\\nEND:VEVENT\u2028\u202ex\u200b"
    lines = ("DTSTART;VALUE=DATE:20261225", f"SUMMARY:{said}")
    (holiday,), _ = read_calendar(calendar("BEGIN:VEVENT", *lines, "END:VEVENT"))
    assert holiday.summary == "S [31m END:VEVENT x"
