"""Durations, times, dates and zones as written."""

from collections.abc import Callable
from typing import Any

import pytest

from gitbot import calendar
from gitbot.model.plan.findings import Refusal

READ: list[tuple[Callable[[str], Any], str, Any]] = [
    (calendar.duration, "PT4H", 14_400),
    (calendar.duration, "P1W2DT3H4M5S", 788_645),
    (calendar.duration, "P3660D", 316_224_000),
    (calendar.duration_or_zero, "PT0S", 0),
    (calendar.instant, "1970-01-01T00:00Z", 0),
    (calendar.instant, "2026-12-06T06:00+01:00", 1_796_533_200),
    (calendar.instant, "2026-12-06T05:00:00Z", 1_796_533_200),
    (calendar.local_time, "2026-12-06T22:00", "2026-12-06T22:00:00"),
    (calendar.local_date, "2028-02-29", "2028-02-29"),
    (calendar.zone, "Europe/Madrid", "Europe/Madrid"),
    (calendar.zone, "UTC", "UTC"),
    (calendar.duration, "PT90M", 5_400),
    (calendar.duration, "PT1H30M", 5_400),
    (calendar.duration, "P1W", 604_800),
    (calendar.duration, "P1D", 86_400),
    (calendar.duration, "P3DT12H", 302_400),
    (calendar.local_time, "2026-12-06T22:00:30", "2026-12-06T22:00:30"),
    (calendar.local_time, "2028-02-29T00:00", "2028-02-29T00:00:00"),
    (calendar.zone, "America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
]

_DURATION = "write PT4H for four hours, P3D for three days"
_LOCAL_TIME = 'write it as "2026-12-06T22:00"'
_LOCAL_DATE = 'write it as "2027-01-03"'
_ZONE = "write a place, as Europe/Madrid, or UTC"
_HOURS = "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59"
REFUSED: list[tuple[Callable[[str], Any], str, str]] = [
    (calendar.duration, "PT0S", "write PT1H for one hour"),
    (calendar.duration, "P", "write PT4H for four hours, P3D for three days"),
    (calendar.duration, "PT", "write PT4H for four hours, P3D for three days"),
    (calendar.duration, "P1DT", "write PT4H for four hours, P3D for three days"),
    (calendar.duration, "P1Y", "months and years have no fixed length; write days, as P30D"),
    (calendar.duration, "-PT1H", "durations are positive; write PT1H for one hour"),
    (calendar.duration, "4h", "did you mean PT4H?"),
    (calendar.duration, "1d12h", "did you mean P1DT12H?"),
    (calendar.duration, "PT1.5H", "write PT4H for four hours, P3D for three days"),
    (calendar.duration, "P3661D", "shorten it"),
    (calendar.instant, "2026-02-29T00:00Z", "that month has 28 days"),
    (calendar.instant, "2026-04-31T00:00Z", "that month has 30 days"),
    (calendar.instant, "2026-00-01T00:00Z", "there is no month 0"),
    (calendar.instant, "2026-12-06T24:00Z",
     "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59"),
    (calendar.instant, "1969-12-31T23:59Z", "correct the year"),
    (calendar.instant, "9999-12-31T23:59-12:00", "correct the year"),
    (calendar.instant, "0000-01-01T00:00Z", "there is no year 0"),
    (calendar.instant, "tomorrow", 'write it as "2026-12-06T22:00+01:00"'),
    (calendar.instant, "٢٠٢٦-12-06T22:00Z", 'write it as "2026-12-06T22:00+01:00"'),
    (calendar.local_time, "2026-12-06", 'write it as "2026-12-06T22:00"'),
    (calendar.local_date, "2026-12-6", 'write it as "2027-01-03"'),
    (calendar.local_date, "9999-12-32",
     "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59"),
    (calendar.zone, "europe/madrid", "did you mean Europe/Madrid?"),
    (calendar.zone, "Factory", "write a place, as Europe/Madrid, or UTC"),
    (calendar.zone, "../UTC", "write a place, as Europe/Madrid, or UTC"),
    (calendar.duration, "", _DURATION),
    (calendar.duration, "PT1M1H", _DURATION),
    (calendar.duration, "pt1h", _DURATION),
    (calendar.duration, "PT\u0661H", _DURATION),
    (calendar.duration, "P1M", "months and years have no fixed length; write days, as P30D"),
    (calendar.duration, "P1Y2DT3H", "months and years have no fixed length; write days, as P30D"),
    (calendar.duration, "P9999999999999999D", _DURATION),
    (calendar.local_time, "22:00", _LOCAL_TIME),
    (calendar.local_time, "2026-12-06 22:00", _LOCAL_TIME),
    (calendar.local_time, "2026-12-06T22:00Z", 'write "2026-12-06T22:00" and the zone as timeZone'),
    (calendar.local_time, "2026-12-06T22:00+01:00",
     'write "2026-12-06T22:00" and the zone as timeZone'),
    (calendar.local_time, "2026-12-06T24:00", _HOURS),
    (calendar.local_time, "2026-13-06T22:00", "there is no month 13"),
    (calendar.local_time, "2026-02-30T22:00", "that month has 28 days"),
    (calendar.local_time, "2026-12-06T22:00:00.5", _LOCAL_TIME),
    (calendar.local_time, "٢٠٢٦-12-06T22:00", _LOCAL_TIME),
    (calendar.local_date, "2027-1-3", _LOCAL_DATE),
    (calendar.local_date, "2027-02-30", "that month has 28 days"),
    (calendar.local_date, "tomorrow", _LOCAL_DATE),
    (calendar.local_date, "", _LOCAL_DATE),
    (calendar.zone, "Europe/Madird", "did you mean Europe/Madrid?"),
    (calendar.zone, "CEST", _ZONE),
    (calendar.zone, "GMT+2", _ZONE),
    (calendar.zone, "../../etc/passwd", _ZONE),
    (calendar.zone, "+01:00", _ZONE),
    (calendar.zone, "x\0y", _ZONE),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text", "value"), READ)
def test_read(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(("read", "text", "hint"), REFUSED)
def test_refused(read: Callable[[str], Any], text: str, hint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read(text)
    assert refusal.value.hint == hint


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "PT0S"), (86_400, "P1D"), (90_061, "P1DT1H1M1S"), (1_800, "PT30M"), (259_200, "P3D")],
)
def test_durations_are_written_as_they_are_read(seconds: int, text: str) -> None:
    assert calendar.duration_text(seconds) == text
    assert calendar.duration_or_zero(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (3_600, "1 h"),
        (93_784, "1 d 2 h"),
        (900, "15 min"),
        (86_430, "1 d 30 s"),
    ],
)
def test_words_of_a_duration(seconds: int, words: str) -> None:
    assert calendar.format_duration(seconds) == words
