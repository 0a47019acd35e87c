"""What is wrong with a schedule: field, code, words. And that no text costs much."""

from datetime import date, datetime

import pytest

from gitbot.calendar import Schedule, check_schedule, duration, occurrences
from gitbot.model.text.instants import FOREVER

TEXTS = {
    "start": "2026-12-06T22:00",
    "duration": "PT4H",
    "recurrence": "FREQ=MONTHLY;BYDAY=1SU",
}


def schedule(*exclude: str, time_zone: str = "Europe/Madrid", **texts: str) -> Schedule:
    """That of TEXTS, but for what is given."""
    written = TEXTS | texts
    return Schedule(
        start=datetime.fromisoformat(written["start"]),
        time_zone=time_zone,
        duration=duration(written["duration"]),
        recurrence=written["recurrence"],
        exclude=tuple(map(date.fromisoformat, exclude)),
    )


GOOD = schedule("2027-01-03")


def said(value: Schedule) -> list[str]:
    return [
        f"{each.severity} {each.field}{'' if each.index is None else f'[{each.index}]'} "
        f"{each.code}: {each.message}" + (f"; {each.hint}" if each.hint else "")
        for each in check_schedule(value)
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        GOOD,
        schedule(recurrence=""),
        schedule(recurrence="RRULE:FREQ=WEEKLY;BYDAY=SU"),
        schedule(recurrence="FREQ=YEARLY;BYMONTH=12;BYDAY=-1SU;WKST=MO"),
        schedule(recurrence="FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"),
        schedule(recurrence="FREQ=WEEKLY;INTERVAL=2;COUNT=10"),
        schedule(recurrence="FREQ=DAILY;BYHOUR=4,16"),
        schedule(recurrence="FREQ=HOURLY;INTERVAL=6", start="2026-12-06T01:00"),
    ],
)
def test_good_schedules(schedule: Schedule) -> None:
    assert said(schedule) == []


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (schedule("2027-01-03", start="1999-12-06T22:00"),
         ["error start calendar/invalid-start: found year 1999, expected 2000 to 2199"]),
        (schedule("2027-01-03", time_zone=""),
         [("error timeZone calendar/missing-zone: found no time zone, expected an IANA "
          "name such as Europe/Madrid; give timeZone here, or for the cluster "
          "in .gitbot.yaml")]),
        (schedule("2300-01-01", start="2200-01-01T00:00", recurrence="FREQ=SECONDLY"),
         ["error start calendar/invalid-start: found year 2200, expected 2000 to 2199",
          ("error recurrence calendar/invalid-recurrence: found SECONDLY, expected FREQ "
          "to be one of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY"),
          "error exclude[0] calendar/invalid-exclude: found year 2300, expected 2000 to 2199"]),
        (schedule("2027-01-04"),
         ["warning exclude[0] calendar/excludes-nothing: no occurrence starts on 2027-01-04"]),
        (schedule(recurrence="FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2"),
         [("error recurrence calendar/never-occurs: FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2 "
          "never occurs from 2026-12-06T22:00:00 on; change the rule, start or exclude")]),
        (schedule(recurrence="FREQ=DAILY;UNTIL=20200101"),
         [("error recurrence calendar/never-occurs: FREQ=DAILY;UNTIL=20200101 "
          "never occurs from 2026-12-06T22:00:00 on; change the rule, start or exclude")]),
        (schedule("2026-12-06", recurrence=""),
         ["error exclude[0] calendar/never-occurs: 2026-12-06 excludes the only occurrence"]),
        (schedule(recurrence="FREQ=DAILY", duration="PT25H"),
         [("error duration calendar/overlap: the occurrence of 2026-12-06T22:00 lasts 1 d "
          "1 h and runs into the next one of 2026-12-07T22:00; expected at most 1 d")]),
        # a day of 23 hours: P1D overlaps only in the night when clocks go forward
        (schedule(recurrence="FREQ=DAILY", duration="P1D"),
         [("error duration calendar/overlap: the occurrence of 2027-03-27T22:00 lasts 1 d "
          "and runs into the next one of 2027-03-28T22:00; expected at most 23 h")]),
        (schedule(start="2026-03-29T02:30", duration="PT1H", recurrence=""),
         [("error start calendar/start-in-gap: 2026-03-29T02:30:00 does not exist in "
          "Europe/Madrid: clocks go forward over it; "
          "choose a time before or after the change")]),
        (schedule(start="2026-10-25T02:30", duration="PT1H", recurrence=""),
         [("warning start calendar/start-repeated: 2026-10-25T02:30:00 occurs twice in "
          "Europe/Madrid: the first counts")]),
        (schedule(start="2026-03-22T02:30", duration="PT1H",
         recurrence="FREQ=WEEKLY;UNTIL=20270101"),
         [("warning recurrence calendar/occurrence-lost: the occurrence of "
          "2026-03-29T02:30 Europe/Madrid does not exist (clocks go forward): it is lost"),
          ("warning recurrence calendar/occurrence-repeated: the occurrence of "
          "2026-10-25T02:30 Europe/Madrid occurs twice (clocks go back): "
          "only the first counts")]),
    ],
)  # fmt: skip
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
        for each in check_schedule(schedule(recurrence=rule))
        if each.code == "calendar/invalid-recurrence"
    ]
    assert len(problems) == (0 if message is None else 1)
    assert (message or "") in "".join(problems)


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
    value = schedule(recurrence=rule)
    assert [each.code for each in check_schedule(value)] == ["calendar/never-occurs"]
    assert occurrences(value, after=0, before=FOREVER) == ()


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
    assert said(schedule(duration="PT1H", recurrence=rule)) == []


@pytest.mark.parametrize(
    ("rule", "length", "message"),
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
def test_overlaps_that_come_late_are_found(rule: str, length: str, message: str) -> None:
    value = schedule(recurrence=rule, duration=length)
    found = [item for item in said(value) if "calendar/overlap" in item]
    assert len(found) == (1 if message else 0)
    assert message in "".join(found)


def test_excludes_of_later_years_are_looked_at() -> None:
    value = schedule("2050-01-02", "2050-01-03", "2049-12-26", recurrence="FREQ=WEEKLY")
    assert said(value) == [
        "warning exclude[1] calendar/excludes-nothing: no occurrence starts on 2050-01-03"
    ]
