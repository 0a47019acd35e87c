"""RRULE (RFC 5545) over naive local times, with bounded work for any text.

python-dateutil expands the rules, but searches for an occurrence until the year 9999. The Gregorian
calendar repeats after 400 years (146,097 days, a whole number of weeks), so gitbot shifts a rule by
a multiple of 400 years towards that end. A rule that never occurs then fails after the remaining
few hundred years, within a quarter of a second.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from datetime import MAXYEAR, datetime, timedelta
from math import lcm

from gitbot.calendar.zones import LocalKind, clock_time, resolve

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY")
_RANGES: Mapping[str, tuple[int, int]] = {
    "INTERVAL": (1, 10_000),
    "COUNT": (1, 10_000),
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSETPOS": (1, 366),
}
_SIGNED = frozenset({"BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"})
_SINGLE = frozenset({"INTERVAL", "COUNT"})
_DAY = re.compile(r"([+-]?[1-9]\d?)?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z)?)?", re.ASCII)
_NAMES = ("FREQ", "UNTIL", "BYDAY", "WKST", *_RANGES)
_MAX_TIMES_A_DAY = 48
_CYCLE = 400
_WEEKDAY_CYCLE = 28
_LISTED_YEARS = 64
_ASKED_FROM = datetime(2000, 1, 1)  # noqa: DTZ001 - a day; 28 years on no leap year is left out
_STEPS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
_SHORT = frozenset(_STEPS)
_DAY_NAMES = ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYDAY")
_DATES = ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYSETPOS")


def check_rule(text: str) -> str:
    """The error in a recurrence; "" if gitbot can read it."""
    try:
        parts = _parts(text)
    except ValueError as error:
        return str(error)
    for name, value in parts.items():
        problem = _check_part(name, value, parts["FREQ"])
        if problem:
            return problem
    times = len(_items(parts, "BYHOUR")) * len(_items(parts, "BYMINUTE"))
    if times > _MAX_TIMES_A_DAY:
        return f"found {times} times a day, expected at most {_MAX_TIMES_A_DAY}"
    if "COUNT" in parts and "UNTIL" in parts:
        return "found COUNT and UNTIL, expected at most one of them"
    return ""


def expand(text: str, start: datetime, zone: str) -> Iterator[datetime]:
    """All occurrences of a checked rule as naive local times, oldest first.

    `start` is included only if it matches the rule. A time that the zone skips is included, but
    does not count for COUNT (RFC 5545, section 3.3.10). This is a generator; the search for the
    next occurrence is bounded, so take as many as you need.
    """
    shift = (MAXYEAR - start.year) // _CYCLE * _CYCLE
    parts = _parts(text)
    if _names_no_day(text):
        return
    until = _until(parts.pop("UNTIL"), zone) if "UNTIL" in parts else None
    left = int(parts.pop("COUNT", "-1"))
    rule_text = ";".join(f"{name}={value}" for name, value in parts.items())
    try:
        for moment in _moments(rule_text, start.replace(year=start.year + shift)):
            local = moment.replace(year=moment.year - shift)
            if until is not None and local > until:
                return
            yield local
            left -= left > 0 and resolve(local, zone)[1] is not LocalKind.SKIPPED
            if left == 0:
                return
    except ValueError:
        # dateutil says so if an interval can never meet BYHOUR or BYMINUTE, or if a week
        # reaches into the year 10000
        return


def skip_to(text: str, start: datetime, moment: datetime) -> datetime:
    """A start from which a checked rule has the same times after `moment`, whole intervals later.

    Without it, a daily rule from 1970 is expanded day by day. `start` if the rule has a COUNT.
    """
    parts = _parts(text)
    interval, frequency = int(parts.get("INTERVAL", "1")), parts["FREQ"]
    if moment <= start or "COUNT" in parts:
        return start
    if frequency in _STEPS:
        step = interval * _STEPS[frequency]
        return start + (moment - start) // step * step
    years = interval if frequency == "YEARLY" else lcm(interval, 12) // 12
    year = start.year + (moment.year - start.year - 1) // years * years
    leap_day = (start.month, start.day) == (2, 29)
    return start if leap_day or year < start.year else start.replace(year=year)


def repeats_after(text: str) -> int:
    """Years after which a checked rule has shown every gap and every night of a clock change.

    Weekdays and leap years repeat after 28 years. A rule that skips months or years needs INTERVAL
    times as many. Clock changes that follow the moon meet single dates late, and zone tables list
    those for about sixty years. A rule for every hour, day or week has the same gaps in every week,
    so a few years of clock changes are enough.
    """
    parts = _parts(text)
    interval = int(parts.get("INTERVAL", "1"))
    dated = any(name in parts for name in _DATES)
    if parts["FREQ"] not in _SHORT:
        return max(_LISTED_YEARS, _WEEKDAY_CYCLE * interval)
    if dated:
        return _LISTED_YEARS
    return 5 if interval == 1 else _WEEKDAY_CYCLE


@functools.lru_cache(maxsize=256)
def _names_no_day(text: str) -> bool:
    """Whether the rule contains a day that no year has, such as 30 February.

    It checks the days only, year by year, over one cycle of weekdays and leap years. That is a
    hundred times faster than hour by hour or day by day to the end of the calendar. False proves
    nothing. Rules of months and years, which count weekdays within themselves, are not checked.
    """
    parts = _parts(text)
    if parts["FREQ"] not in _SHORT or not {"BYMONTHDAY", "BYYEARDAY"} & parts.keys():
        return False
    days = {"BYDAY": ",".join(_DAYS), **{name: parts[name] for name in _DAY_NAMES if name in parts}}
    rule = ";".join(f"{name}={value}" for name, value in days.items())
    until = f"{_ASKED_FROM.year + _WEEKDAY_CYCLE + 1}0101T000000"
    found = _moments(f"FREQ=YEARLY;UNTIL={until};{rule}", _ASKED_FROM)
    return next(found, None) is None


def _moments(rule: str, start: datetime) -> Iterator[datetime]:
    from dateutil.rrule import rrulestr  # noqa: PLC0415 - only where something recurs

    return iter(rrulestr(rule, dtstart=start))


def _parts(text: str) -> dict[str, str]:
    body = text.removeprefix("RRULE:")
    parts: dict[str, str] = {}
    for part in body.split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise ValueError(
                f"found {part!r}, expected NAME=VALUE parts such as FREQ=WEEKLY;BYDAY=SU"
            )
        if name in {"BYSECOND", "BYEASTER"} or name not in _NAMES:
            raise ValueError(f"found {name}, expected one of {', '.join(_NAMES)}")
        if name in parts:
            raise ValueError(f"found {name} twice, expected it once")
        parts[name] = value
    if parts.get("FREQ") not in FREQUENCIES:
        found = parts.get("FREQ", "no FREQ")
        raise ValueError(f"found {found}, expected FREQ to be one of {', '.join(FREQUENCIES)}")
    return parts


def _check_part(name: str, value: str, frequency: str) -> str:
    if name in _RANGES:
        return _check_numbers(name, value) or _check_place(name, frequency)
    if name == "BYDAY":
        return _check_days(value, frequency)
    if name == "WKST":
        return "" if value in _DAYS else f"WKST: found {value}, expected one of {', '.join(_DAYS)}"
    if name == "UNTIL":
        return _check_until(value)
    return ""


_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def _check_numbers(name: str, value: str) -> str:
    low, high = _RANGES[name]
    items = value.split(",")
    if name in _SINGLE and len(items) > 1:
        return f"{name}: found {value}, expected one number"
    for item in items:
        digits = item[1:] if name in _SIGNED and item[:1] in {"-", "+"} else item
        if not re.fullmatch(r"[0-9]{1,5}", digits) or not low <= int(digits) <= high:
            sign = " (or the same counted from the end, -1)" if name in _SIGNED else ""
            return f"{name}: found {item}, expected {low} to {high}{sign}"
    return ""


def _check_place(name: str, frequency: str) -> str:
    if name == "BYSETPOS" and frequency in {"DAILY", "HOURLY"}:
        return f"BYSETPOS: found with FREQ={frequency}, expected WEEKLY, MONTHLY or YEARLY"
    if name == "BYWEEKNO" and frequency != "YEARLY":
        return f"BYWEEKNO: found with FREQ={frequency}, expected FREQ=YEARLY"
    return ""


def _check_days(value: str, frequency: str) -> str:
    for item in value.split(","):
        match = _DAY.fullmatch(item)
        if match is None:
            return f"BYDAY: found {item}, expected days such as SU, 1SU (first) or -1FR (last)"
        if match[1] and frequency not in {"MONTHLY", "YEARLY"}:
            return f"BYDAY: found {item} with FREQ={frequency}, expected MONTHLY or YEARLY"
        if match[1] and abs(int(match[1])) > 53:
            return f"BYDAY: found {item}, expected at most the 53rd"
    return ""


def _check_until(value: str) -> str:
    try:
        _until(value, "UTC")
    except ValueError:
        return (
            f"UNTIL: found {value}, expected 20271231, 20271231T220000 (local) or 20271231T210000Z"
        )
    return ""


def _until(value: str, zone: str) -> datetime:
    match = _UNTIL.fullmatch(value)
    if match is None:
        raise ValueError(value)
    day, time, utc = match.groups()
    # a date alone includes the whole day
    moment = datetime.strptime(day + (time or "235959"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - local
    if not utc:
        return moment
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001 - both are on the UTC line
    return clock_time(int((moment - epoch).total_seconds()), zone)


def _items(parts: Mapping[str, str], name: str) -> list[str]:
    return parts.get(name, "0").split(",")
