"""Time zones from the tzdata wheel alone, so that every machine gives the same instants."""

from __future__ import annotations

import functools
from datetime import datetime
from enum import StrEnum
from pkgutil import get_data

import tzdata  # type: ignore[import-untyped]
import whenever

# No zone file of the machine: whenever then reads the tzdata package only.
whenever.reset_tzpath([])
whenever.clear_tzcache()

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""Version of the zone rules, part of what a plan names as its engine (`2026f`)."""


class LocalKind(StrEnum):
    """Whether a local time exists once, not at all, or twice."""

    ONCE = "once"
    SKIPPED = "skipped"
    REPEATED = "repeated"


def check_zone(name: str) -> str:
    """Empty for an IANA zone name, else what is wrong with it and the nearest name."""
    if name in zone_names():
        return ""
    places = sorted(zone for zone in zone_names() if "/" in zone)
    import difflib  # noqa: PLC0415 - only where a name is wrong

    close = difflib.get_close_matches(name, places, n=1, cutoff=0.75)
    hint = f"did you mean {close[0]}?" if close else "a place, for example Europe/Madrid, or UTC"
    return f"found {name!r}, expected an IANA time zone; {hint}"


@functools.cache
def zone_names() -> frozenset[str]:
    """All IANA names that the tzdata wheel knows."""
    text = (get_data("tzdata", "zones") or b"").decode("ascii")
    return frozenset(text.split()) - {"Factory", "localtime"}


def resolve(local: datetime, zone: str) -> tuple[int, LocalKind]:
    """Seconds UTC of a naive local time, and what kind of local time it is.

    A repeated time is its first occurrence; a skipped one is shifted forward by the length of the
    gap (RFC 5545, section 3.3.5), which the caller may refuse.
    """
    plain = whenever.PlainDateTime(
        local.year, local.month, local.day, local.hour, local.minute, local.second
    )
    try:
        return _seconds(plain.assume_tz(zone, disambiguation="raise")), LocalKind.ONCE
    except whenever.SkippedTime:
        kind = LocalKind.SKIPPED
    except whenever.RepeatedTime:
        kind = LocalKind.REPEATED
    return _seconds(plain.assume_tz(zone, disambiguation="compatible")), kind


def local_text(instant: int, zone: str) -> str:
    """`Sun 2026-12-06 22:00` of seconds UTC, on the clock of the zone."""
    local = local_time(instant, zone)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[local.weekday()]
    seconds = f":{local.second:02}" if local.second else ""
    return f"{day} {local:%Y-%m-%d %H:%M}{seconds}"


def local_time(instant: int, zone: str) -> datetime:
    """The naive local time of seconds UTC."""
    zoned = whenever.Instant.from_timestamp(instant).to_tz(zone)
    return zoned.to_plain().to_stdlib()


def _seconds(zoned: whenever.ZonedDateTime) -> int:
    return int(zoned.timestamp())
