"""Turns schedules, recurrences, time zones and clock changes into instants. Reads no clock."""

from gitbot.calendar.check import Problem, check_schedule
from gitbot.calendar.schedule import (
    Occurrence,
    Schedule,
    current_or_next,
    occurrence_words,
    occurrences,
)
from gitbot.calendar.text import (
    DURATION,
    duration,
    duration_or_zero,
    duration_text,
    format_duration,
    instant,
    local_date,
    local_time,
)
from gitbot.calendar.zones import TZDATA_VERSION, clock_time, local_text, zone

__all__ = [
    "DURATION",
    "TZDATA_VERSION",
    "Occurrence",
    "Problem",
    "Schedule",
    "check_schedule",
    "clock_time",
    "current_or_next",
    "duration",
    "duration_or_zero",
    "duration_text",
    "format_duration",
    "instant",
    "local_date",
    "local_text",
    "local_time",
    "occurrence_words",
    "occurrences",
    "zone",
]
