"""When a cron line is due, in UTC: five fields with lists, ranges and steps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

MINUTE = 60
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def due(line: str, after: int, until: int) -> Iterator[int]:
    """Every instant (seconds UTC, full minutes) in (after, until]."""
    fields = line.split()
    sets = [_values(text, low, high) for text, (low, high) in zip(fields, _BOUNDS, strict=True)]
    moment = after // MINUTE * MINUTE + MINUTE
    while moment <= until:
        time = datetime.fromtimestamp(moment, UTC)
        weekday = time.isoweekday() % 7
        day, any_day = time.day in sets[2], fields[2] == "*"
        week, any_week = weekday in sets[4], fields[4] == "*"
        days = (day and week) if any_day or any_week else (day or week)
        if time.minute in sets[0] and time.hour in sets[1] and time.month in sets[3] and days:
            yield moment
        moment += MINUTE


def _values(text: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        start = low if first == "*" else int(first)
        end = int(last) if dash else (high if first == "*" or step else start)
        found |= set(range(start, end + 1, int(step or 1)))
    return found
