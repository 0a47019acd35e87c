"""Turns schedules, recurrences, time zones and clock changes into instants. Reads no clock."""

from gitbot.calendar.events import (
    CHANGE_WINDOW,
    Appointment,
    appointment_words,
    following_month,
    month_text,
    months,
    span_words,
)
from gitbot.calendar.ics import Holiday, calendar_file, read_calendar
from gitbot.calendar.opening_changes import changed_openings
from gitbot.calendar.schedule import (
    Occurrence,
    Schedule,
    current_or_next,
    occurrence_words,
    occurrences,
)
from gitbot.calendar.schedule_checks import Problem, check_schedule
from gitbot.calendar.spoken import (
    localized,
    spoken_duration,
    spoken_past,
    spoken_time,
    time_in_full,
)
from gitbot.calendar.time_formats import (
    DURATION,
    duration,
    duration_or_zero,
    duration_text,
    format_duration,
    instant,
    local_date,
    local_time,
)
from gitbot.calendar.zones import TZDATA_VERSION, clock_time, day_start, local_text, resolve, zone

__all__ = [
    "CHANGE_WINDOW",
    "DURATION",
    "TZDATA_VERSION",
    "Appointment",
    "Holiday",
    "Occurrence",
    "Problem",
    "Schedule",
    "appointment_words",
    "calendar_file",
    "changed_openings",
    "check_schedule",
    "clock_time",
    "current_or_next",
    "day_start",
    "duration",
    "duration_or_zero",
    "duration_text",
    "following_month",
    "format_duration",
    "instant",
    "local_date",
    "local_text",
    "local_time",
    "localized",
    "month_text",
    "months",
    "occurrence_words",
    "occurrences",
    "read_calendar",
    "resolve",
    "span_words",
    "spoken_duration",
    "spoken_past",
    "spoken_time",
    "time_in_full",
    "zone",
]
