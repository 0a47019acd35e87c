"""What a calendar says of an event, and a month of days."""

from dataclasses import replace
from datetime import date

import pytest

from gitbot.calendar import Appointment, appointment_words, month_text, months
from gitbot.model.text.instants import FOREVER, Interval, parse_instant

NOW = parse_instant("2026-12-03T12:00:00Z")
ANNOUNCED = parse_instant("2026-12-03T19:00:00Z")


def at(start: str, end: str, **more: object) -> Appointment:
    time = Interval(start=parse_instant(start), end=parse_instant(end))
    event = Appointment(kind="window", name="firmware", time=time, zone="Europe/Madrid")
    return replace(event, **more)  # type: ignore[arg-type]


SUNDAY = at("2026-12-06T21:00:00Z", "2026-12-07T01:00:00Z")
WORDS = {
    "Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; 4 nodes; proposal opens Thu 3 Dec": replace(
        SUNDAY, what="4 nodes", announced=ANNOUNCED
    ),
    "Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; moves from Sun 6 Dec 20:00": replace(
        SUNDAY, lead=7200
    ),
    "Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; proposal due since Wed 2 Dec": replace(
        SUNDAY, announced=ANNOUNCED - 86_400
    ),
    "Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; cancelled: by a person; 4 nodes": replace(
        SUNDAY, what="4 nodes", announced=ANNOUNCED, lead=7200, cancelled="by a person"
    ),
    "Sun 6 Dec 22:00-02:00 Europe/Madrid, in 3 days; 4 nodes; wholly frozen by close": replace(
        SUNDAY, what="4 nodes", announced=ANNOUNCED, lead=7200, frozen="wholly frozen by close"
    ),
    "Thu 3 Dec 12:00-14:30 Europe/Madrid, open for another 1 h 30 min": at(
        "2026-12-03T11:00:00Z", "2026-12-03T13:30:00Z"
    ),
    "Thu 3 Dec 14:30-15:00 Europe/Madrid, in 1 h 30 min": at(
        "2026-12-03T13:30:00Z", "2026-12-03T14:00:00Z"
    ),
    "Thu 3 Dec 12:00-14:30 Europe/Madrid; cancelled: by a person": replace(
        at("2026-12-03T11:00:00Z", "2026-12-03T13:30:00Z"), cancelled="by a person"
    ),
    "Tue 1 Dec 23:00 - Sat 5 Dec 23:00 Europe/Madrid, open for another 2 days": at(
        "2026-12-01T22:00:00Z", "2026-12-05T22:00:00Z"
    ),
    "Sun 28 Mar 2027 01:00-06:00 Europe/Madrid (4 h: clocks change), in 114 days": at(
        "2027-03-28T00:00:00Z", "2027-03-28T04:00:00Z"
    ),
    "Thu 3 Dec 10:00-11:00 Europe/Madrid, over": at("2026-12-03T09:00:00Z", "2026-12-03T10:00:00Z"),
    "always; everywhere": replace(
        SUNDAY, kind="freeze", time=Interval(start=0, end=FOREVER), what="everywhere"
    ),
    "from its merge until its nodes are back; 2 nodes": replace(
        SUNDAY, time=Interval(start=0, end=FOREVER), what="2 nodes"
    ),
    "until Sun 6 Dec 22:00 Europe/Madrid, open for another 3 days": replace(
        SUNDAY, time=Interval(start=0, end=SUNDAY.time.start)
    ),
    "from Sun 6 Dec 22:00 Europe/Madrid, without an end, in 3 days": replace(
        SUNDAY, time=Interval(start=SUNDAY.time.start, end=FOREVER)
    ),
}


@pytest.mark.parametrize("words", WORDS)
def test_words(words: str) -> None:
    assert appointment_words(WORDS[words], now=NOW) == words


def test_a_month_marks_the_days_on_which_something_is_open() -> None:
    freeze = replace(SUNDAY, kind="freeze", time=Interval(start=NOW - 86_400 * 60, end=NOW))
    request = replace(SUNDAY, kind="request")
    gone = replace(SUNDAY, time=Interval(start=NOW + 864_000, end=NOW + 864_001), cancelled="no")
    always = replace(SUNDAY, time=Interval(start=0, end=FOREVER))
    text = month_text([request, SUNDAY, freeze, gone, always], date(2026, 12, 1), "Europe/Madrid")
    assert text == (
        "Dec 2026, Europe/Madrid\n"
        "Mon    Tue    Wed    Thu    Fri    Sat    Sun\n"
        "        1 F    2 F    3 F    4      5      6 WR\n"
        " 7 WR   8      9     10     11     12     13\n"
        "14     15     16     17     18     19     20\n"
        "21     22     23     24     25     26     27\n"
        "28     29     30     31\n"
    )


def test_the_months_of_a_span_are_those_of_the_zone() -> None:
    start = parse_instant("2026-12-31T23:30:00Z")
    assert months(start, start + 60, "Europe/Madrid") == [date(2027, 1, 1)]
    assert months(start, start + 60, "UTC") == [date(2026, 12, 1)]
    ends = parse_instant("2027-02-01T00:00:00Z")
    assert months(start, ends, "UTC") == [date(2026, 12, 1), date(2027, 1, 1)]
