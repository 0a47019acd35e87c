"""FreezeWindow as a kind: its example, selectors, and times in a calendar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitbot.calendar import Appointment, Occurrence
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.freeze_window.check import check
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.kind import (
    AgendaView,
    CalendarEntries,
    DatedEntries,
    Kind,
    Role,
    ScheduledEntries,
    VmSelector,
)
from gitbot.model.text.instants import compact_instant

_MOST = 500
_AHEAD = 400 * 86_400  # holidays have no rule that says where to look further


def _selectors(_: Intent, spec: FreezeWindowSpec) -> Iterator[VmSelector]:
    if spec.selector is not None:
        path = ("spec", "selector")
        yield VmSelector(path=path, selector=spec.selector, namespaces=spec.namespaces)


def _entries(agenda: AgendaView, intent: Intent, spec: FreezeWindowSpec) -> CalendarEntries | None:
    if spec.namespaces is not None and not any(map(agenda.concerns, spec.namespaces)):
        return None

    def entry(occurrence: Occurrence | None) -> Appointment:
        event = agenda.event(intent, "freeze", spec.schedule, occurrence)
        return replace(event, what=_words(spec))

    def holidays(after: int, before: int) -> list[Appointment]:
        event = entry(None)
        zone = (spec.calendar.time_zone if spec.calendar else None) or event.zone
        found = [
            replace(
                event,
                time=time,
                zone=zone,
                id=compact_instant(time.start),
                what=f"{event.what}: {each.summary}" if each.summary else event.what,
            )
            for each in intent.holidays
            for time in each.times(zone, after=after, before=before)
        ]
        return sorted(found, key=lambda each: (each.time, *each.key))[:_MOST]

    if spec.calendar is not None:
        return DatedEntries(between=holidays, ahead=_AHEAD)
    return ScheduledEntries(schedule=spec.schedule, entry=entry)


def _words(spec: FreezeWindowSpec) -> str:
    where = f"in {', '.join(spec.namespaces)}" if spec.namespaces is not None else "everywhere"
    some = "some VMs " if spec.selector is not None else ""
    return f"{some}{where}" + (f": {spec.reason}" if spec.reason else "")


_EXAMPLE = """\
# Nothing of gitbot's moves here while it is open; a freeze wins over every window.
apiVersion: API_VERSION
kind: FreezeWindow
metadata: {name: example-quarter-close}
spec:
  namespaces: [example]
  schedule:
    start: "2027-03-29T00:00"
    timeZone: UTC
    duration: P4D
    recurrence: "FREQ=YEARLY;BYMONTH=3,6,9,12;BYMONTHDAY=29"
  reason: quarter close
"""

KIND = Kind(
    name="FreezeWindow",
    spec=FreezeWindowSpec,
    namespaced=False,
    role=Role.WINDOW,
    check=check,
    description="Nothing of gitbot's moves here; freeze wins over every window.",
    example=_EXAMPLE,
    moves=False,
    selectors=_selectors,
    entries=_entries,
)
