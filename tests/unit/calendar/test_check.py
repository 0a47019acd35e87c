"""What is wrong with a schedule: field, code, words. And that no text costs much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitbot.calendar import Schedule, check_schedule, check_zone, occurrences
from gitbot.model.instants import FOREVER

GOOD = Schedule(
    start="2026-12-06T22:00",
    time_zone="Europe/Madrid",
    duration="PT4H",
    recurrence="FREQ=MONTHLY;BYDAY=1SU",
    exclude=("2027-01-03",),
)


def said(schedule: Schedule) -> list[str]:
    return [
        f"{each.severity} {each.field}{'' if each.index is None else f'[{each.index}]'} "
        f"{each.code}: {each.message}" + (f"; {each.hint}" if each.hint else "")
        for each in check_schedule(schedule)
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        GOOD,
        replace(GOOD, recurrence="", exclude=()),
        replace(GOOD, recurrence="RRULE:FREQ=WEEKLY;BYDAY=SU", exclude=()),
        replace(GOOD, recurrence="FREQ=YEARLY;BYMONTH=12;BYDAY=-1SU;WKST=MO", exclude=()),
        replace(GOOD, recurrence="FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", exclude=()),
        replace(GOOD, recurrence="FREQ=WEEKLY;INTERVAL=2;COUNT=10", exclude=()),
        replace(GOOD, recurrence="FREQ=DAILY;BYHOUR=4,16", exclude=()),
        replace(GOOD, recurrence="FREQ=HOURLY;INTERVAL=6", start="2026-12-06T01:00", exclude=()),
    ],
)
def test_good_schedules(schedule: Schedule) -> None:
    assert said(schedule) == []


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (
            replace(GOOD, start="22:00"),
            [
                (
                    "error start calendar/invalid-start: found '22:00', "
                    "expected a local time such as 2026-12-06T22:00"
                )
            ],
        ),
        (
            replace(GOOD, start="2026-02-30T22:00"),
            [
                (
                    "error start calendar/invalid-start: found '2026-02-30T22:00', "
                    "day is out of range for month"
                )
            ],
        ),
        (
            replace(GOOD, time_zone=""),
            [
                (
                    "error timeZone calendar/missing-zone: found no time zone, expected an IANA "
                    "name such as Europe/Madrid; give timeZone here, or for the cluster "
                    "in .gitbot.yaml"
                )
            ],
        ),
        (
            replace(GOOD, time_zone="Europe/Madird"),
            [
                (
                    "error timeZone calendar/unknown-zone: found 'Europe/Madird', "
                    "expected an IANA time zone; did you mean Europe/Madrid?"
                )
            ],
        ),
        (
            replace(GOOD, duration="PT0S"),
            ["error duration calendar/empty-duration: found no time, expected a positive duration"],
        ),
        (
            replace(GOOD, duration="P1M", recurrence="FREQ=SECONDLY", exclude=("soon",)),
            [
                (
                    "error duration calendar/invalid-duration: "
                    "found years or months, whose length varies; expected weeks or days"
                ),
                (
                    "error recurrence calendar/invalid-recurrence: found SECONDLY, expected FREQ "
                    "to be one of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY"
                ),
                (
                    "error exclude[0] calendar/invalid-exclude: found 'soon', "
                    "expected a date such as 2027-01-03"
                ),
            ],
        ),
        (
            replace(GOOD, exclude=("2027-01-03", "2027-01-03")),
            ["error exclude[1] calendar/repeated-exclude: found 2027-01-03 twice"],
        ),
        (
            replace(GOOD, exclude=("2027-01-04",)),
            ["warning exclude[0] calendar/excludes-nothing: no occurrence starts on 2027-01-04"],
        ),
        (
            replace(GOOD, recurrence="FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2", exclude=()),
            [
                (
                    "error recurrence calendar/never-occurs: FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2 "
                    "never occurs from 2026-12-06T22:00 on; change the rule, start or exclude"
                )
            ],
        ),
        (
            replace(GOOD, recurrence="FREQ=DAILY;UNTIL=20200101", exclude=()),
            [
                (
                    "error recurrence calendar/never-occurs: FREQ=DAILY;UNTIL=20200101 "
                    "never occurs from 2026-12-06T22:00 on; change the rule, start or exclude"
                )
            ],
        ),
        (
            replace(GOOD, recurrence="", exclude=("2026-12-06",)),
            ["error exclude[0] calendar/never-occurs: 2026-12-06 excludes the only occurrence"],
        ),
        (
            replace(GOOD, recurrence="FREQ=DAILY", duration="PT25H", exclude=()),
            [
                (
                    "error duration calendar/overlap: the occurrence of 2026-12-06T22:00 lasts 1 d "
                    "1 h and runs into the next one of 2026-12-07T22:00; expected at most 1 d"
                )
            ],
        ),
        # a day of 23 hours: P1D overlaps only in the night when clocks go forward
        (
            replace(GOOD, recurrence="FREQ=DAILY", duration="P1D", exclude=()),
            [
                (
                    "error duration calendar/overlap: the occurrence of 2027-03-27T22:00 lasts 1 d "
                    "and runs into the next one of 2027-03-28T22:00; expected at most 23 h"
                )
            ],
        ),
        (
            Schedule(start="2026-03-29T02:30", time_zone="Europe/Madrid", duration="PT1H"),
            [
                (
                    "error start calendar/start-in-gap: 2026-03-29T02:30 does not exist in "
                    "Europe/Madrid: clocks go forward over it; "
                    "choose a time before or after the change"
                )
            ],
        ),
        (
            Schedule(start="2026-10-25T02:30", time_zone="Europe/Madrid", duration="PT1H"),
            [
                (
                    "warning start calendar/start-repeated: 2026-10-25T02:30 occurs twice in "
                    "Europe/Madrid: the first counts"
                )
            ],
        ),
        (
            Schedule(
                start="2026-03-22T02:30",
                time_zone="Europe/Madrid",
                duration="PT1H",
                recurrence="FREQ=WEEKLY;UNTIL=20270101",
            ),
            [
                (
                    "warning recurrence calendar/occurrence-lost: the occurrence of "
                    "2026-03-29T02:30 Europe/Madrid does not exist (clocks go forward): it is lost"
                ),
                (
                    "warning recurrence calendar/occurrence-repeated: the occurrence of "
                    "2026-10-25T02:30 Europe/Madrid occurs twice (clocks go back): "
                    "only the first counts"
                ),
            ],
        ),
    ],
)
def test_problems(schedule: Schedule, expected: list[str]) -> None:
    assert said(schedule) == expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", None),
        ("FREQ", "found 'FREQ', expected NAME=VALUE parts"),
        ("BYDAY=SU", "found no FREQ, expected FREQ"),
        ("FREQ=weekly", "found weekly, expected FREQ"),
        ("FREQ=MINUTELY", "found MINUTELY"),
        ("FREQ=DAILY;FREQ=DAILY", "found FREQ twice"),
        ("FREQ=DAILY;BYSECOND=1", "found BYSECOND, expected one of"),
        ("FREQ=DAILY;BYEASTER=0", "found BYEASTER, expected one of"),
        ("FREQ=DAILY;X=1", "found X, expected one of"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL: found 0, expected 1 to 10000"),
        ("FREQ=DAILY;INTERVAL=1,2", "INTERVAL: found 1,2, expected one number"),
        ("FREQ=DAILY;INTERVAL=-1", "INTERVAL: found -1"),
        ("FREQ=DAILY;COUNT=99999999999999999999", "COUNT: found 9"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "found COUNT and UNTIL"),
        ("FREQ=DAILY;UNTIL=20271301", "UNTIL: found 20271301"),
        ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL: found tomorrow"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR: found 24, expected 0 to 23"),
        ("FREQ=DAILY;BYMONTH=13", "BYMONTH: found 13"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY: found 0"),
        ("FREQ=MONTHLY;BYMONTHDAY=-32", "BYMONTHDAY: found -32"),
        ("FREQ=DAILY;BYDAY=1SU", "BYDAY: found 1SU with FREQ=DAILY"),
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY: found XX"),
        ("FREQ=YEARLY;BYDAY=99SU", "BYDAY: found 99SU"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS: found with FREQ=DAILY"),
        ("FREQ=MONTHLY;BYWEEKNO=3", "BYWEEKNO: found with FREQ=MONTHLY"),
        ("FREQ=WEEKLY;WKST=XX", "WKST: found XX"),
        ("FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7;BYMINUTE=1,2,3,4,5,6,7", "found 49 times a day"),
    ],
)
def test_rules_that_are_refused(rule: str, message: str | None) -> None:
    problems = [
        each.message
        for each in check_schedule(replace(GOOD, recurrence=rule, exclude=()))
        if each.code == "calendar/invalid-recurrence"
    ]
    assert len(problems) == (0 if message is None else 1)
    assert (message or "") in "".join(problems)


@pytest.mark.parametrize("name", ["Europe/Madrid", "UTC", "America/Argentina/Buenos_Aires"])
def test_zones(name: str) -> None:
    assert check_zone(name) == ""


@pytest.mark.parametrize(
    "name", ["CEST", "GMT+2", "europe/madrid", "../../etc/passwd", "Factory", "+01:00", "x\0y"]
)
def test_zones_that_are_refused(name: str) -> None:
    assert "expected an IANA time zone" in check_zone(name)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31;BYHOUR=1",
        "FREQ=WEEKLY;BYMONTH=2;BYDAY=MO;BYSETPOS=3",
        "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6",
        "FREQ=HOURLY;INTERVAL=9999;BYMONTHDAY=31;BYMONTH=2",
    ],
)
def test_what_never_occurs_ends(rule: str) -> None:
    schedule = replace(GOOD, recurrence=rule, exclude=())
    assert [each.code for each in check_schedule(schedule)] == ["calendar/never-occurs"]
    assert occurrences(schedule, after=0, before=FOREVER) == ()


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
        "FREQ=DAILY;BYYEARDAY=366;BYDAY=SU",
        "FREQ=HOURLY;BYYEARDAY=-366;BYDAY=SA",
        "FREQ=WEEKLY;BYMONTH=1;BYMONTHDAY=-31",
        "FREQ=WEEKLY;BYMONTHDAY=31",
        "FREQ=DAILY;BYMONTHDAY=29;BYYEARDAY=60",
    ],
)
def test_what_occurs_once_in_many_years_is_no_error(rule: str) -> None:
    assert said(replace(GOOD, duration="PT1H", recurrence=rule, exclude=())) == []


@pytest.mark.parametrize(
    ("rule", "duration", "message"),
    [
        # a month of 28 days
        ("FREQ=MONTHLY;BYMONTHDAY=1,28", "P3DT1H", "the occurrence of 2027-02-28T22:00 lasts"),
        ("FREQ=YEARLY;INTERVAL=3;BYYEARDAY=59,61", "P2D", ""),
        # a February of 28 days
        ("FREQ=YEARLY;INTERVAL=3;BYMONTH=2,3;BYMONTHDAY=1", "P29D", "of 2029-02-01T22:00 lasts"),
        # a week apart, and never over the last Sunday of March
        ("FREQ=MONTHLY;BYDAY=1SU,2SU", "P7D", ""),
        ("FREQ=WEEKLY", "P7D", "the occurrence of 2027-03-21T22:00 lasts"),
        ("FREQ=WEEKLY;INTERVAL=5", "P35D", "lasts 35 d"),
    ],
)
def test_overlaps_that_come_late_are_found(rule: str, duration: str, message: str) -> None:
    schedule = replace(GOOD, recurrence=rule, duration=duration, exclude=())
    found = [item for item in said(schedule) if "calendar/overlap" in item]
    assert len(found) == (1 if message else 0)
    assert message in "".join(found)


def test_excludes_of_later_years_are_looked_at() -> None:
    schedule = replace(
        GOOD, recurrence="FREQ=WEEKLY", exclude=("2050-01-02", "2050-01-03", "2049-12-26")
    )
    assert said(schedule) == [
        "warning exclude[1] calendar/excludes-nothing: no occurrence starts on 2050-01-03"
    ]
