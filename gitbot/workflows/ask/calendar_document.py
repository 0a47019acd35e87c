"""The published document of a calendar."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.calendar import Appointment, appointment_words
from gitbot.published import PublishedCalendar, published


def calendar_document(
    cluster: str, events: Iterable[Appointment], *, now: int, span: tuple[int, int]
) -> PublishedCalendar:
    """The events that touch the span, from its start to its end in seconds UTC."""
    items = [
        {
            "kind": event.kind,
            "name": event.name,
            "id": event.id,
            "start": event.time.start,
            "end": 0 if event.always else event.time.end,
            "timeZone": event.zone,
            "words": appointment_words(event, now=now),
            "announced": event.announced,
            "cancelled": event.cancelled,
            "frozen": event.frozen,
            "file": event.file,
        }
        for event in events
    ]
    fields = {"cluster": cluster, "time": now, "from": span[0], "until": span[1], "events": items}
    return published(fields, PublishedCalendar)
