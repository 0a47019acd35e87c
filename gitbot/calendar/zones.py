"""Time zones from the tzdata wheel only, so that every machine computes the same instants."""

from __future__ import annotations

import functools
from datetime import datetime
from enum import StrEnum
from pkgutil import get_data

import tzdata  # type: ignore[import-untyped]
import whenever

from gitbot.model.plan.findings import Refusal
from gitbot.model.text.wording import nearest

# Do not use the machine's zone files: then whenever reads the tzdata package.
whenever.reset_tzpath([])
whenever.clear_tzcache()

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""Version of the zone rules, part of what a plan names as its engine (`2026f`)."""


class LocalKind(StrEnum):
    """Whether a local time exists once, not at all, or twice."""

    ONCE = "once"
    SKIPPED = "skipped"
    REPEATED = "repeated"


def zone(text: str) -> str:
    """The name of an IANA time zone. Raises Refusal for anything else."""
    if text in zone_names():
        return text
    near = nearest(text, sorted(name for name in zone_names() if "/" in name), cutoff=0.8)
    hint = f"did you mean {near}?" if near else "write a place, as Europe/Madrid, or UTC"
    raise Refusal("time-zone", "the name of an IANA time zone", hint)


@functools.cache
def zone_names() -> frozenset[str]:
    text = (get_data("tzdata", "zones") or b"").decode("ascii")
    return frozenset(text.split()) - {"Factory", "localtime"}


def resolve(local: datetime, zone: str) -> tuple[int, LocalKind]:
    """Seconds UTC of a naive local time, and which kind of local time it is.

    A repeated time means its first occurrence. A skipped one moves forward by the length of the gap
    (RFC 5545, section 3.3.5); the caller may refuse it.
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
    """`Sun 2026-12-06 22:00` in the zone, from seconds UTC."""
    local = clock_time(instant, zone)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[local.weekday()]
    seconds = f":{local.second:02}" if local.second else ""
    return f"{day} {local:%Y-%m-%d %H:%M}{seconds}"


def day_start(day: str, zone: str) -> int:
    """Seconds UTC at which a local day begins, `2026-12-06`."""
    return resolve(datetime.fromisoformat(day), zone)[0]


def clock_time(instant: int, zone: str) -> datetime:
    """Naive local time in the zone, from seconds UTC."""
    zoned = whenever.Instant.from_timestamp(instant).to_tz(zone)
    return zoned.to_plain().to_stdlib()


def _seconds(zoned: whenever.ZonedDateTime) -> int:
    return int(zoned.timestamp())
