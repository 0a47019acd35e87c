"""Durations, times and dates as people write them.

Each function takes the text as written and returns its value, or raises Refusal with the
expectation and the fix. Durations are ISO 8601 without months and years.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

from gitbot.model.plan.findings import Refusal
from gitbot.model.text.instants import FOREVER, parse_instant

DAY = 86_400
LONGEST = 3660 * DAY
"""Ten years in seconds: the longest allowed duration."""

DURATION = (
    r"P(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?"
    r"(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})S)?)?"
)
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
LOCAL_TIME = rf"{DATE}T[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}})?"
OFFSET = r"(Z|[+-][0-9]{2}:[0-9]{2})"
INSTANT = rf"{LOCAL_TIME}{OFFSET}"
_EXISTS = "a date and time that exist"
_KEPT = 4096  # files repeat the same texts
_SECONDS = (7 * DAY, DAY, 3600, 60, 1)


def duration(text: str) -> int:
    """Seconds of an ISO 8601 duration in weeks, days (24 h), hours, minutes, seconds; over 0."""
    seconds = duration_or_zero(text)
    if seconds == 0:
        raise Refusal("duration", "a duration longer than nothing", "write PT1H for one hour")
    return seconds


@lru_cache(maxsize=_KEPT)
def duration_or_zero(text: str) -> int:
    """As `duration`, but also takes PT0S, which means no time at all."""
    match = re.fullmatch(DURATION, text)
    if match is None or text.endswith(("P", "T")):
        raise Refusal(
            "duration",
            "a duration in weeks, days, hours, minutes and seconds",
            _duration_hint(text),
        )
    numbers = (int(number or 0) for number in match.groups())
    seconds = sum(number * unit for number, unit in zip(numbers, _SECONDS, strict=True))
    if seconds > LONGEST:
        raise Refusal("duration", "a duration of at most ten years (P3660D)", "shorten it")
    return seconds


def _duration_hint(text: str) -> str:
    if text.startswith("-"):
        return "durations are positive; write PT1H for one hour"
    if re.match(r"P[0-9.,WD]*[0-9][YM]", text):
        return "months and years have no fixed length; write days, as P30D"
    simple = re.fullmatch(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?", text)
    if simple and text:
        days, hours, minutes = simple.groups()
        date_part = f"{days}D" if days else ""
        time_part = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
        return f"did you mean P{date_part}{'T' + time_part if time_part else ''}?"
    return "write PT4H for four hours, P3D for three days"


def duration_text(seconds: int) -> str:
    """The ISO 8601 text of whole seconds in days, hours, minutes and seconds: `P3D`, `PT0S`."""
    days, rest = divmod(seconds, DAY)
    parts = [(rest // 3600, "H"), (rest % 3600 // 60, "M"), (rest % 60, "S")]
    time_part = "".join(f"{number}{unit}" for number, unit in parts if number)
    if not days and not time_part:
        return "PT0S"
    return f"P{f'{days}D' if days else ''}{f'T{time_part}' if time_part else ''}"


def format_duration(seconds: int) -> str:
    """A duration in its two largest units: `3 d 4 h`, `15 min`, `0 s`."""
    parts = []
    rest = abs(seconds)
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


@lru_cache(maxsize=_KEPT)
def instant(text: str) -> int:
    """Seconds UTC of a date and time with offset or Z."""
    if re.fullmatch(LOCAL_TIME, text):
        raise Refusal(
            "time", "a time with its offset, or Z for UTC", f"write {text}Z, or {text}+01:00"
        )
    if re.fullmatch(INSTANT, text) is None:
        raise Refusal(
            "time", "a date and a time with offset", 'write it as "2026-12-06T22:00+01:00"'
        )
    try:
        seconds = parse_instant(text)
    except ValueError as error:
        raise Refusal("time", _EXISTS, _no_such_day(text)) from error
    if not 0 <= seconds <= FOREVER:
        raise Refusal("time", "a time between 1970 and 9999", "correct the year")
    return seconds


def local_time(text: str) -> str:
    """A local date and time without offset, as `2026-12-06T22:00:00`."""
    if re.fullmatch(INSTANT, text):
        bare = re.sub(rf"{OFFSET}$", "", text)
        raise Refusal(
            "time", "a local time without offset", f'write "{bare}" and the zone as timeZone'
        )
    if re.fullmatch(LOCAL_TIME, text) is None:
        raise Refusal("time", "a local date and time", 'write it as "2026-12-06T22:00"')
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError as error:
        raise Refusal("time", _EXISTS, _no_such_day(text)) from error


def local_date(text: str) -> str:
    """A date, as `2027-01-03`."""
    if re.fullmatch(DATE, text) is None:
        raise Refusal("time", "a date", 'write it as "2027-01-03"')
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise Refusal("time", "a date that exists", _no_such_day(text)) from error


def _no_such_day(text: str) -> str:
    year, month, day = (int(part) for part in text[:10].split("-"))
    if not 1 <= month <= 12:
        return f"there is no month {month}"
    if year < 1:
        return "there is no year 0"
    following = date(year + month // 12, month % 12 + 1, 1) if year < 9999 else date(9999, 12, 31)
    last = (following - timedelta(days=1)).day if year < 9999 else 28
    if day < 1 or (day > last and year < 9999):
        return f"that month has {last} days"
    return "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59"
