"""Times and durations as people type them: `tonight`, `tomorrow 22:00`, `Sat 10pm`, `in 2h`, `4h`.

A fixed grammar. Files keep the exact forms of `time_formats`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from gitbot.calendar.time_formats import DATE, DAY, INSTANT, duration, format_duration, instant
from gitbot.calendar.zones import LocalKind, clock_time, local_text, resolve
from gitbot.calendar.zones import zone as checked
from gitbot.model.plan.findings import Refusal
from gitbot.model.text.instants import format_instant

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TONIGHT = (22, 0, 0)
_MORNING = 6  # `tonight 01:00` is after midnight
_TIME = re.compile(
    rf"(?:(?P<day>today|tonight|tomorrow|[a-z]{{3,9}}|{DATE})(?:[ t]+|$))?"
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9]))?)?"
    r"\s*(?P<half>[ap]m)?)?"
)
_PAST = re.compile(_TIME.pattern.replace("today|tonight|tomorrow|", "today|yesterday|"))
_PERIOD = re.compile(r"(?P<which>this|last) (?P<unit>week|month|year)")
_DURATION = re.compile(
    r"(?:([0-9]{1,4})w)?(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m(?:in)?)?"
    r"(?:([0-9]{1,7})s)?"
)
_MOMENT = r"`?\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`?"
_BARE = re.compile(rf"\({_MOMENT}(?: to {_MOMENT})?\)|({_MOMENT})")
_EXPECTED = "a time such as 22:00, 10pm, tonight, Sat 22:00, 2026-12-06 22:00 or in 2h"
_EXPECTED_PAST = "a time such as 30d, yesterday, last month, 2026-11-01 or 2026-11-01 22:00"


def spoken_duration(text: str) -> int:
    """Seconds of `4h`, `1d12h`, `90m`, `30s` or an ISO 8601 duration. Raises Refusal."""
    found = _DURATION.fullmatch(text.replace(" ", "").lower())
    sizes = (7 * DAY, DAY, 3600, 60, 1)
    numbers = [int(number or 0) for number in found.groups()] if found else []
    seconds = sum(number * size for number, size in zip(numbers, sizes, strict=False))
    return seconds or duration(text)


def spoken_time(text: str, zone: str, *, now: int) -> int:
    """Seconds UTC. A time of day is its next one in the zone. Raises Refusal."""
    words = " ".join(text.split())
    if re.fullmatch(INSTANT, words):
        return instant(words)
    if words.lower().startswith("in "):
        return now + spoken_duration(words[3:])
    found = _TIME.fullmatch(words.lower())
    if found is None or not words:
        raise _refused()
    here = clock_time(now, checked(zone))
    clock = _clock(found)
    day = _day(found["day"], here, clock)
    seconds, kind = resolve(datetime.combine(day, time(*clock)), zone)
    if kind is LocalKind.SKIPPED:
        raise Refusal("time", f"a time that exists in {zone}", "its clocks skip that hour")
    return seconds


def spoken_past(text: str, zone: str, *, now: int) -> int:
    """Seconds UTC of a time that is over: `30d`, `yesterday 18:00`, `last month`, `2026-11-01`.

    A day without a time, a week and a month are their beginning. Raises Refusal.
    """
    words = " ".join(text.split())
    if re.fullmatch(INSTANT, words):
        return instant(words)
    here = clock_time(now, checked(zone))
    if found := _PERIOD.fullmatch(words.lower()):
        begins = _period(found["unit"], here.date(), back=found["which"] == "last")
        return resolve(datetime.combine(begins, time()), zone)[0]
    found = _PAST.fullmatch(words.lower())
    try:
        if found is None or not words or found["day"] in ("tonight", "tomorrow"):
            return now - spoken_duration(words.removesuffix(" ago"))
        clock = _clock(found) if found["hour"] else (0, 0, 0)
        day = _past_day(found["day"], here, clock)
    except Refusal as error:
        raise Refusal("time", _EXPECTED_PAST, "times without a zone are the cluster's") from error
    return resolve(datetime.combine(day, time(*clock)), zone)[0]


def _period(unit: str, today: date, *, back: bool) -> date:
    """The first day of this week, month or year, or of the one before."""
    match unit:
        case "week":
            return today - timedelta(days=today.weekday() + 7 * back)
        case "month":
            first = today.replace(day=1)
            return (first - timedelta(days=1)).replace(day=1) if back else first
    return date(today.year - back, 1, 1)


def _past_day(text: str | None, here: datetime, clock: tuple[int, int, int]) -> date:
    match text:
        case "yesterday":
            return here.date() - timedelta(days=1)
        case None:  # the last time that the clock showed this
            return _day(None, here, clock) - timedelta(days=1)
        case "today":
            return here.date()
    day = _day(text, here, clock)
    return day if text[0].isdigit() else day - timedelta(days=7)


def time_in_full(seconds: int, zone: str, *, now: int) -> str:
    """`Sat 2026-11-28 22:00 Europe/Madrid (2026-11-28T21:00:00Z), in 1 d 2 h`."""
    local = f"{local_text(seconds, zone)} {zone}"
    return f"{local} ({format_instant(seconds)}), {_distance(seconds, now)}"


def localized(text: str, zone: str, *, now: int | None = None) -> str:
    """The text with each instant as `Sat 2026-11-28 22:00 Europe/Madrid (in 2 h)`.

    Without `now` it says no distance. Instants alone in brackets follow their local time already.
    """
    return _BARE.sub(lambda found: _in_zone(found[1], zone, now) if found[1] else found[0], text)


def _in_zone(text: str, zone: str, now: int | None) -> str:
    try:
        seconds = instant(text.strip("`"))
    except Refusal:
        return text  # only looks like a time
    local = f"{local_text(seconds, zone)} {zone}"
    return local if now is None else f"{local} ({_distance(seconds, now)})"


def _distance(seconds: int, now: int) -> str:
    if seconds == now:
        return "now"
    away = format_duration(abs(seconds - now))
    return f"in {away}" if seconds > now else f"{away} ago"


def _clock(found: re.Match[str]) -> tuple[int, int, int]:
    if not found["hour"]:
        day = found["day"] or ""
        if day[:1].isdigit():
            raise Refusal("time", _EXPECTED, f"add the time of day: {day} 00:00")
        if day != "tonight":
            raise _refused()
        return _TONIGHT
    hour, half = int(found["hour"]), found["half"]
    if not (found["minute"] or half) or hour > (12 if half else 23) or (half and not hour):
        raise _refused()
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    return hour, int(found["minute"] or 0), int(found["second"] or 0)


def _day(text: str | None, here: datetime, clock: tuple[int, int, int]) -> date:
    later, today = clock > (here.hour, here.minute, here.second), here.date()
    match text:
        case None:
            return today + timedelta(days=0 if later else 1)
        case "today":
            return today
        case "tonight":
            return today + timedelta(days=1 if clock[0] < _MORNING <= here.hour else 0)
        case "tomorrow":
            return today + timedelta(days=1)
    if text[0].isdigit():
        try:
            return date.fromisoformat(text)
        except ValueError as error:
            raise Refusal("time", "a date that exists", "correct the day") from error
    named = [index for index, name in enumerate(_WEEKDAYS) if name.startswith(text)]
    if not named:
        raise _refused()
    ahead = (named[0] - here.weekday()) % 7
    return today + timedelta(days=ahead if ahead or later else 7)


def _refused() -> Refusal:
    return Refusal("time", _EXPECTED, "times without a zone are the cluster's")
