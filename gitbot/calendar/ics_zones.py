"""Time zones of calendar files: IANA names, Windows names, vendors' paths, and own definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from gitbot.calendar.zones import clock_time, resolve, zone_names

_COMPARED = timedelta(days=731)


def wall(moment: date) -> datetime:
    """The local time as it is written."""
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - on the wall


@dataclass(frozen=True, slots=True, kw_only=True)
class FileZones:
    """The zones of one file; `defined` are its VTIMEZONE components by TZID."""

    defined: Mapping[str, Any] = field(default_factory=dict)

    def zone(self, moment: date, parameters: Mapping[str, Any]) -> str:
        """The IANA name of a time's zone; "" for a date and for a time without zone.

        An IANA name stands for itself. Any other name means what the file defines (RFC 5545,
        section 3.2.19), then a Windows name, then the end of a vendor's path. Raises ValueError.
        """
        if not isinstance(moment, datetime):
            return ""
        name = str(parameters.get("TZID", "" if moment.tzinfo is None else "UTC"))
        if name in zone_names() or not name:
            return name
        found = self._defined(name, wall(moment)) if name in self.defined else _known(name)
        if not found:
            expected = "an IANA name such as Europe/Madrid, UTC, or a VTIMEZONE like one of them"
            raise ValueError(f"TZID: found {name}, expected {expected}")
        return found

    def local(self, moment: date, parameters: Mapping[str, Any], zone: str) -> datetime:
        """The time on the clocks of `zone`; unchanged if it is a date or a side has no zone."""
        own = self.zone(moment, parameters)
        if not own or not zone or own == zone:
            return wall(moment)
        return clock_time(resolve(wall(moment), own)[0], zone)

    def _defined(self, name: str, first: datetime) -> str:
        """The first zone with the definition's clock for two years from `first`; "" if none."""
        component = self.defined[name]
        clock = component.to_tz(lookup_tzid=False)
        wanted = (_known(name), str(component.get("X-LIC-LOCATION", "")))
        known = zone_names()
        return next((it for it in _likely(wanted) if it in known and _alike(it, clock, first)), "")


def _known(name: str) -> str:
    """The IANA zone of a Windows name or of a vendor's path; "" if it is neither."""
    from icalendar.timezone.windows_to_olson import (  # noqa: PLC0415 - only where a file is read
        WINDOWS_TO_OLSON,
    )

    ends = ["/".join(name.split("/")[-words:]) for words in (3, 2)] if name[:1] == "/" else []
    known = zone_names()
    return next((end for end in ends if end in known), "") or WINDOWS_TO_OLSON.get(name, "")


def _likely(wanted: Iterable[str]) -> Iterator[str]:
    """The wanted zones, then those of fixed offsets, of Windows, and all others, each by name."""
    from icalendar.timezone.windows_to_olson import (  # noqa: PLC0415 - only where a file is read
        WINDOWS_TO_OLSON,
    )

    names = sorted(zone_names())
    yield from wanted
    yield from (name for name in names if name.startswith("Etc/"))
    yield from sorted(WINDOWS_TO_OLSON.values())
    yield from names


def _alike(zone: str, clock: tzinfo, first: datetime) -> bool:
    """Whether both clocks show the same at each noon; an hour of a change may differ."""
    step, moment = timedelta(days=1), first.replace(hour=12, minute=0, second=0)
    while moment < first + _COMPARED:
        offset = moment.replace(tzinfo=clock).utcoffset()
        if offset is None or resolve(moment, zone)[0] != resolve(moment - offset, "UTC")[0]:
            return False
        moment += step
    return True
