"""Openings in words, for status lines and comments."""

from __future__ import annotations

from gitbot.calendar.schedule import Occurrence, Schedule, current_or_next
from gitbot.calendar.text import format_duration
from gitbot.calendar.zones import local_text
from gitbot.model.instants import format_instant


def opening_words(schedule: Schedule, *, now: int) -> str:
    """`opens Sun 2026-12-06 22:00 Europe/Madrid (2026-12-06T21:00:00Z), in 2 d 3 h, for 4 h`.

    The same for an occurrence that is open now (`open until ...`), or `never opens again`.
    """
    occurrence = current_or_next(schedule, now=now)
    if occurrence is None:
        return "never opens again"
    return occurrence_words(occurrence, schedule.time_zone, now=now)


def occurrence_words(occurrence: Occurrence, zone: str, *, now: int) -> str:
    """One occurrence seen from now, in the same words."""
    if occurrence.start <= now:
        verb = "open until" if now < occurrence.end else "closed"
        distance = occurrence.end - now
        length = (
            f"for another {format_duration(distance)}"
            if distance > 0
            else f"{format_duration(-distance)} ago"
        )
        return f"{verb} {_moment(occurrence.end, zone)}, {length}"
    wait = format_duration(occurrence.start - now)
    length = format_duration(occurrence.end - occurrence.start)
    return f"opens {_moment(occurrence.start, zone)}, in {wait}, for {length}"


def _moment(instant: int, zone: str) -> str:
    return f"{local_text(instant, zone)} {zone} ({format_instant(instant)})"
