"""Durations, local times and dates as written."""

from __future__ import annotations

import pytest

from gitbot.calendar import format_duration, parse_date, parse_duration, parse_local


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT4H", 14_400),
        ("PT0S", 0),
        ("PT90M", 5_400),
        ("PT1H30M", 5_400),
        ("P1W", 604_800),
        ("P1D", 86_400),
        ("P3DT12H", 302_400),
        ("P1W2DT3H4M5S", 788_645),
        ("P3660D", 316_224_000),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a duration such as"),
        ("4h", "expected a duration such as"),
        ("P", "expected a duration such as"),
        ("PT", "expected a duration such as"),
        ("P1DT", "expected a duration such as"),
        ("-PT1H", "expected a duration such as"),
        ("PT1.5H", "expected a duration such as"),
        ("PT1M1H", "expected a duration such as"),
        ("pt1h", "expected a duration such as"),
        ("PT\u0661H", "expected a duration such as"),
        ("P1M", "found years or months"),
        ("P1Y", "found years or months"),
        ("P1Y2DT3H", "found years or months"),
        ("P3661D", "more than ten years"),
        ("P9999999999999999D", "more than ten years"),
    ],
)
def test_refused_durations(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


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
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2026-12-06T22:00", "2026-12-06 22:00:00"),
        ("2026-12-06T22:00:30", "2026-12-06 22:00:30"),
        ("2028-02-29T00:00", "2028-02-29 00:00:00"),
    ],
)
def test_local_times(text: str, printed: str) -> None:
    assert str(parse_local(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("22:00", "expected a local time"),
        ("2026-12-06", "expected a local time"),
        ("2026-12-06 22:00", "expected a local time"),
        ("2026-12-06T22:00Z", "found an offset"),
        ("2026-12-06T22:00+01:00", "found an offset"),
        ("2026-12-06T24:00", "hour must be in 0..23"),
        ("2026-13-06T22:00", "month must be in 1..12"),
        ("2026-02-30T22:00", "day"),
        ("1999-12-06T22:00", "found year 1999, expected 2000 to 2199"),
        ("2026-12-06T22:00:00.5", "expected a local time"),
        ("٢٠٢٦-12-06T22:00", "expected a local time"),
    ],
)
def test_refused_local_times(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_local(text)


@pytest.mark.parametrize("text", ["2027-1-3", "2027-02-30", "tomorrow", "2300-01-01", ""])
def test_refused_dates(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_date(text)
