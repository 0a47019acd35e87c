"""Recurrences, zones and daylight saving time to instants. Reads no clock."""

from gitbot.calendar.check import Problem, check_schedule
from gitbot.calendar.schedule import Occurrence, Schedule, current_or_next, occurrences
from gitbot.calendar.text import format_duration, parse_date, parse_duration, parse_local
from gitbot.calendar.words import occurrence_words, opening_words
from gitbot.calendar.zones import TZDATA_VERSION, check_zone, local_text

__all__ = [
    "TZDATA_VERSION",
    "Occurrence",
    "Problem",
    "Schedule",
    "check_schedule",
    "check_zone",
    "current_or_next",
    "format_duration",
    "local_text",
    "occurrence_words",
    "occurrences",
    "opening_words",
    "parse_date",
    "parse_duration",
    "parse_local",
]
