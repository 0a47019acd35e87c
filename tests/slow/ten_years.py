"""Ten years of schedules in twelve zones, and what a Go program says of each opening.

`python -m tests.slow.ten_years` prints the figures of docs/reference/calendar.md. The program
(tests/controlplane/calendar) reads the wall clock minute by minute with Go's own time zones.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from gitbot.calendar import Schedule, check_schedule, clock_time, occurrences
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import parse_instant
from tests.controlplane import build

ZONES = (
    *("Europe/Madrid", "America/New_York", "Australia/Sydney", "America/Santiago"),  # both halves
    *("Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu"),  # half an hour, three quarters
    *("America/Sao_Paulo", "America/Mexico_City", "Asia/Tehran", "Asia/Amman"),  # changed rules
    "Africa/Casablanca",  # follows the moon
)
FROM, UNTIL = parse_instant("2016-01-01T00:00:00Z"), parse_instant("2026-01-01T00:00:00Z")
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# the times at which clocks change in these zones, and common hours
TIMES = ("00:00", "00:30", "01:00", "01:30", "01:45", "02:00", "02:15", "02:30", "03:00", "22:00")
WALL = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """How many schedules and openings were compared, and each difference."""

    schedules: int
    openings: int
    differences: tuple[str, ...]


def schedules(zone: str, seed: int, count: int) -> Iterator[Schedule]:
    """Lawful random schedules of a zone; the first are daily at each time of TIMES."""
    dice = random.Random(f"{zone} {seed}")
    made = 0
    while made < count:
        time = TIMES[made] if made < len(TIMES) else dice.choice(TIMES)
        first = date(2015, 1, 1) + timedelta(days=dice.randrange(4 * 365))
        start = datetime.fromisoformat(f"{first}T{time}")
        rule = "FREQ=DAILY" if made < len(TIMES) else _rule(dice, start)
        days = [first + timedelta(days=dice.randrange(3000)) for _ in range(dice.randrange(9))]
        schedule = Schedule(
            start=start,
            time_zone=zone,
            duration=dice.choice((1800, 3600, 4 * 3600, 86_400))
            if rule != "FREQ=DAILY"
            else 14_400,
            recurrence=rule,
            exclude=tuple(days),
        )
        found = check_schedule(schedule)
        if not any(problem.severity is Severity.ERROR for problem in found):
            made += 1
            yield schedule


def _rule(dice: random.Random, start: datetime) -> str:
    frequency = dice.choice(("YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "WEEKLY", "DAILY", "HOURLY"))
    parts = [f"FREQ={frequency}"]
    if dice.random() < 0.4:
        parts.append(f"INTERVAL={dice.randint(2, 7)}")
    if frequency in ("MONTHLY", "YEARLY"):
        parts += _dates(dice, frequency)
    elif dice.random() < 0.6:
        parts.append(f"BYDAY={_some(dice, DAYS)}")
    if frequency == "WEEKLY" and dice.random() < 0.5:
        parts.append(f"WKST={dice.choice(DAYS)}")
    if frequency != "HOURLY" and dice.random() < 0.3:
        parts.append(f"BYHOUR={_some(dice, (0, 1, 2, 3, 22))};BYMINUTE={_some(dice, (0, 15, 30))}")
    if dice.random() < 0.2:
        parts.append(f"COUNT={dice.randint(1, 400)}")
    elif dice.random() < 0.2:
        end = start + timedelta(days=dice.randint(30, 3000))
        parts.append(f"UNTIL={end:%Y%m%dT%H%M%S}")
    return ";".join(parts)


def _dates(dice: random.Random, frequency: str) -> Iterator[str]:
    if dice.random() < 0.4:
        yield f"BYMONTH={_some(dice, range(1, 13))}"
    form = dice.randrange(5)
    if form == 0:
        yield f"BYDAY={dice.choice((1, 2, 3, 4, 5, -1, -2))}{dice.choice(DAYS)}"
    elif form == 1:
        yield f"BYMONTHDAY={_some(dice, (1, 2, 15, 28, 29, 30, 31, -1, -2))}"
    elif form == 2 and frequency == "MONTHLY":
        yield f"BYDAY={_some(dice, DAYS)};BYSETPOS={dice.choice((1, 2, -1))}"
    elif form == 3 and frequency == "YEARLY":
        yield f"BYYEARDAY={_some(dice, (1, 60, 87, 100, 300, 366, -1, -366))}"
    elif form == 4:
        yield f"BYDAY={_some(dice, DAYS)}"


def _some(dice: random.Random, among: Iterable[object]) -> str:
    whole = list(among)
    return ",".join(
        str(each) for each in sorted(dice.sample(whole, dice.randint(1, 3)), key=whole.index)
    )


def program() -> Path:
    return build.build(["calendar"])["calendar"]


def compare(zones: Sequence[str], *, each: int, seed: int = 0) -> Compared:
    """Every opening of every schedule from FROM to UNTIL, by both; start and local end."""
    asked = [list(schedules(zone, seed, each)) for zone in zones]
    text = "\n".join(_question(zone, some) for zone, some in zip(zones, asked, strict=True))
    done = subprocess.run(
        [program()], input=text, capture_output=True, text=True, check=True, env=_own_zones()
    )
    openings, differences = 0, list[str]()
    for some, line in zip(asked, done.stdout.splitlines(), strict=True):
        for schedule, answer in zip(some, json.loads(line), strict=True):
            theirs = [
                (found["start"], found["end"]) for found in answer or () if found["start"] >= FROM
            ]
            ours = list(_ours(schedule))
            openings += len(theirs)
            if ours != theirs:
                first = min(set(ours) ^ set(theirs))
                who = "gitbot" if first in ours else "Go"
                differences.append(f"{schedule}: only {who} has {first}")
    return Compared(
        schedules=sum(map(len, asked)), openings=openings, differences=tuple(differences)
    )


def _ours(schedule: Schedule) -> Iterator[tuple[int, str]]:
    """Year by year, as one call gives at most 10,000 occurrences."""
    year = 366 * 86_400
    for begin in range(FROM, UNTIL, year):
        before = min(begin + year, UNTIL)
        for found in occurrences(schedule, after=begin, before=before):
            if begin <= found.start:
                yield found.start, clock_time(found.end, schedule.time_zone).strftime(WALL)


def _question(zone: str, some: Iterable[Schedule]) -> str:
    listed = [
        {
            "start": schedule.start.strftime(WALL),
            "duration": schedule.duration,
            "rule": schedule.recurrence,
            "exclude": [day.isoformat() for day in schedule.exclude],
        }
        for schedule in some
    ]
    # from a day before the first start, so that COUNT counts from there
    first = parse_instant("2014-12-31T00:00:00Z")
    return json.dumps({"zone": zone, "from": first, "until": UNTIL, "schedules": listed})


def _own_zones() -> dict[str, str]:
    """Go's zones, not those of the machine."""
    root = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True)
    return {**os.environ, "ZONEINFO": f"{root.stdout.strip()}/lib/time/zoneinfo.zip"}


if __name__ == "__main__":
    result = compare(ZONES, each=int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    print(f"{len(ZONES)} zones, {result.schedules} schedules, {result.openings} openings")
    print("\n".join(result.differences[:20]) or "0 differences")
