"""Local times, dates and durations as people write them in a schedule."""

from __future__ import annotations

import re
from datetime import date, datetime

MAX_DURATION = 3660 * 86400
"""Ten years in seconds: the longest duration that is read."""

FIRST_YEAR = 2000
LAST_YEAR = 2199

_LOCAL = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DURATION = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII
)
_SECONDS = (7 * 86400, 86400, 3600, 60, 1)


def parse_local(text: str) -> datetime:
    """A local time without offset, `2026-12-06T22:00` or with seconds, as naive datetime.

    Raises ValueError that says what is wrong.
    """
    match = _LOCAL.fullmatch(text)
    if match is None:
        if re.search(r"(Z|[+-]\d{2}:?\d{2})$", text) and "T" in text:
            raise ValueError("found an offset, expected a local time such as 2026-12-06T22:00")
        raise ValueError("expected a local time such as 2026-12-06T22:00")
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups())
    _check_year(year)
    return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - local on purpose


def parse_date(text: str) -> date:
    """A local date, `2027-01-03`. Raises ValueError that says what is wrong."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("expected a date such as 2027-01-03")
    year, month, day = (int(group) for group in match.groups())
    _check_year(year)
    return date(year, month, day)


def parse_duration(text: str) -> int:
    """Seconds of an ISO 8601 duration of weeks, days (24 h), hours, minutes and seconds.

    Zero is read (`PT0S`); who needs a positive one checks that. Raises ValueError that says what
    is wrong.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        if re.fullmatch(r"P\d+[YM].*|P(\d+Y)?(\d+M)?.*", text) and re.match(r"P\d+[YM]", text):
            raise ValueError("found years or months, whose length varies; expected weeks or days")
        raise ValueError("expected a duration such as PT4H, P3D, P1W or PT1H30M")
    if any(group is not None and len(group) > 9 for group in match.groups()):
        raise ValueError("found more than ten years, expected at most P3660D")
    seconds = sum(
        int(group or 0) * unit for group, unit in zip(match.groups(), _SECONDS, strict=True)
    )
    if seconds > MAX_DURATION:
        raise ValueError("found more than ten years, expected at most P3660D")
    return seconds


def format_duration(seconds: int) -> str:
    """Words of a duration: its two largest units, `3 d 4 h`, `15 min`, `0 s`."""
    parts = []
    rest = abs(seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def _check_year(year: int) -> None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"found year {year}, expected {FIRST_YEAR} to {LAST_YEAR}")
