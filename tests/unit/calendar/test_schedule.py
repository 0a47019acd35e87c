"""Occurrences of schedules, over the nights when clocks change, exclusions and year ends."""

from datetime import date, datetime

import pytest

from gitbot.calendar import Schedule, current_or_next, occurrence_words, occurrences
from gitbot.calendar import duration as seconds_of
from gitbot.calendar import schedule as schedule_module
from gitbot.model.text.instants import FOREVER, format_instant, parse_instant


def schedule(start: str, duration: str = "PT1H", rule: str = "", *exclude: str) -> Schedule:
    return Schedule(
        start=datetime.fromisoformat(start),
        time_zone="Europe/Madrid",
        duration=seconds_of(duration),
        recurrence=rule,
        exclude=tuple(map(date.fromisoformat, exclude)),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # fixed, winter and summer
        (schedule("2026-12-06T22:00", "PT4H"), ["2026-12-06T21:00 2026-12-07T01:00"]),
        (schedule("2026-07-06T22:00", "PT4H"), ["2026-07-06T20:00 2026-07-07T00:00"]),
        # exact duration over both changes of 2026 (03-29 and 10-25): the wall clock jumps
        (schedule("2026-03-28T22:00", "PT8H"), ["2026-03-28T21:00 2026-03-29T05:00"]),
        (schedule("2026-10-24T22:00", "PT8H"), ["2026-10-24T20:00 2026-10-25T04:00"]),
        (schedule("2026-03-28T12:00", "P1D"), ["2026-03-28T11:00 2026-03-29T11:00"]),
        # a fixed start that occurs twice: the first counts
        (schedule("2026-10-25T02:30"), ["2026-10-25T00:30 2026-10-25T01:30"]),
        # a recurrence loses 02:30 of 2026-03-29 and does not count it; 2026-10-25 has it once
        (schedule("2026-03-22T02:30", "PT1H", "FREQ=WEEKLY;COUNT=3"),
         ["2026-03-22T01:30 2026-03-22T02:30", "2026-04-05T00:30 2026-04-05T01:30",
          "2026-04-12T00:30 2026-04-12T01:30"]),
        (schedule("2026-10-18T02:30", "PT1H", "FREQ=WEEKLY;COUNT=3"),
         ["2026-10-18T00:30 2026-10-18T01:30", "2026-10-25T00:30 2026-10-25T01:30",
          "2026-11-01T01:30 2026-11-01T02:30"]),
        # the first Sunday of a month; an excluded one; the year's end
        (schedule("2026-12-06T22:00", "PT4H", "FREQ=MONTHLY;BYDAY=1SU;COUNT=3", "2027-01-03"),
         ["2026-12-06T21:00 2026-12-07T01:00", "2027-02-07T21:00 2027-02-08T01:00"]),
        (schedule("2026-12-31T23:30", "PT1H", "FREQ=DAILY;COUNT=2"),
         ["2026-12-31T22:30 2026-12-31T23:30", "2027-01-01T22:30 2027-01-01T23:30"]),
        # the start counts only if it matches
        (schedule("2026-12-07T22:00", "PT1H", "FREQ=WEEKLY;BYDAY=WE;COUNT=1"),
         ["2026-12-09T21:00 2026-12-09T22:00"]),
        # until: local, UTC, and a whole day
        (schedule("2026-12-01T22:00", "PT1H", "FREQ=DAILY;UNTIL=20261202T220000"),
         ["2026-12-01T21:00 2026-12-01T22:00", "2026-12-02T21:00 2026-12-02T22:00"]),
        (schedule("2026-12-01T22:00", "PT1H", "FREQ=DAILY;UNTIL=20261202T205959Z"),
         ["2026-12-01T21:00 2026-12-01T22:00"]),
        (schedule("2026-12-01T22:00", "PT1H", "FREQ=DAILY;UNTIL=20261202"),
         ["2026-12-01T21:00 2026-12-01T22:00", "2026-12-02T21:00 2026-12-02T22:00"]),
        # leap days
        (schedule("2028-02-29T12:00", "PT1H", "FREQ=YEARLY;COUNT=2"),
         ["2028-02-29T11:00 2028-02-29T12:00", "2032-02-29T11:00 2032-02-29T12:00"]),
        # nothing
        (schedule("2026-12-06T22:00", "PT1H", "", "2026-12-06"), []),
        (schedule("2026-12-06T22:00", "PT1H", "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2"), []),
        (schedule("2026-12-06T22:00", "PT1H", "FREQ=HOURLY;INTERVAL=24;BYHOUR=5"), []),
    ],
)  # fmt: skip
def test_occurrences(value: Schedule, expected: list[str]) -> None:
    found = occurrences(value, after=0, before=FOREVER)
    printed = [
        f"{format_instant(each.start)[:16]} {format_instant(each.end)[:16]}" for each in found
    ]
    assert printed == expected


def test_ids_name_the_start_in_utc() -> None:
    found = occurrences(schedule("2026-12-06T22:00"), after=0, before=FOREVER)
    assert [each.id for each in found] == ["20261206T210000Z"]


WEEKLY = schedule("2026-12-06T22:00", "PT4H", "FREQ=WEEKLY")
FIRST = parse_instant("2026-12-06T21:00:00Z")


@pytest.mark.parametrize(
    ("after", "before", "count"),
    [
        (FIRST, FIRST + 1, 1),
        (FIRST - 10, FIRST, 0),  # before is not included
        (FIRST + 14_399, FIRST + 14_400, 1),  # still open
        (FIRST + 14_400, FIRST + 14_500, 0),  # the end is not included
        (FIRST, FIRST + 604_800, 1),
        (FIRST, FIRST + 604_801, 2),
        (0, FOREVER, 10_000),  # bounded
    ],
)
def test_which_occurrences_fall_into_a_time(after: int, before: int, count: int) -> None:
    assert len(occurrences(WEEKLY, after=after, before=before)) == count


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (
            FIRST - 93_600,
            "opens Sun 2026-12-06 22:00 Europe/Madrid (2026-12-06T21:00:00Z), in 1 d 2 h, for 4 h",
        ),
        (
            FIRST + 3_600,
            "open until Mon 2026-12-07 02:00 Europe/Madrid (2026-12-07T01:00:00Z), for another 3 h",
        ),
        (
            FIRST + 14_400,
            "opens Sun 2026-12-13 22:00 Europe/Madrid (2026-12-13T21:00:00Z), in 6 d 20 h, for 4 h",
        ),
    ],
)
def test_openings_in_words(now: int, words: str) -> None:
    occurrence = current_or_next(WEEKLY, now=now)
    assert occurrence is not None
    assert occurrence_words(occurrence, WEEKLY.time_zone, now=now) == words


def test_a_schedule_that_is_over() -> None:
    once = schedule("2026-12-06T22:00")
    assert current_or_next(once, now=FIRST + 3_600) is None


def test_the_same_schedule_answers_in_any_order_of_questions() -> None:
    """Starts are kept from one question to the next."""
    daily = schedule("2026-01-01T22:00", "PT4H", "FREQ=DAILY")
    hourly = schedule("2026-01-01T22:00", "PT4M", "FREQ=HOURLY")
    day = 86_400
    begin = parse_instant("2026-01-01T00:00:00Z")
    for each in (daily, hourly):
        spans = [(n * 40 * day, n * 40 * day + 2 * day) for n in (3, 22, 0, 9, 22, 1, 8)]
        fresh = []
        for after, before in spans:
            schedule_module._known.cache_clear()
            fresh.append(occurrences(each, after=begin + after, before=begin + before))
        schedule_module._known.cache_clear()
        kept = [occurrences(each, after=begin + a, before=begin + b) for a, b in spans]
        assert kept == fresh
        assert all(kept)
        for now in (begin + 900 * day, begin + day):  # after more starts than are kept, and before
            found = current_or_next(each, now=now)
            assert found is not None
            assert found.end > now
            assert found.start <= now + day


def test_a_schedule_that_cannot_be_read_fails_each_time() -> None:
    unsound = Schedule(
        start=datetime.fromisoformat("2026-01-01T22:00"),
        time_zone="Europe/Nowhere",
        duration=60,
        recurrence="",
        exclude=(),
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="Nowhere"):
            occurrences(unsound, after=0, before=FOREVER)
