"""Schedules: the same as dateutil says, exact durations, no occurrence lost between two queries."""

import itertools
from datetime import datetime, timedelta

from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gitbot.calendar import Schedule, check_schedule, local_text, occurrences
from gitbot.calendar.recurrence import check_rule, expand, skip_to
from gitbot.calendar.schedule import starts
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import FOREVER

QUICK = settings(max_examples=120)
ZONES = st.sampled_from(["Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "UTC"])
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    return st.lists(st.integers(low, high), min_size=1, max_size=3, unique=True).map(
        lambda found: ",".join(str(number) for number in found)
    )


EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times
PARTS = {
    "INTERVAL": st.integers(1, 20).map(str),
    "BYMONTH": numbers(1, 12),
    "BYMONTHDAY": numbers(1, 31),
    "BYDAY": st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True).map(",".join),
    "BYHOUR": numbers(0, 23),
    "WKST": st.sampled_from(DAYS),
}


@st.composite
def rules(draw: st.DrawFn) -> str:
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"]))
    names = draw(st.lists(st.sampled_from(sorted(PARTS)), max_size=3, unique=True))
    parts = [f"{name}={draw(PARTS[name])}" for name in names]
    rule = ";".join([f"FREQ={frequency}", *parts])
    assume(check_rule(rule) == "")
    return rule


STARTS = st.integers(0, 170 * 365 * 24 * 60).map(
    lambda minutes: EPOCH.replace(year=2020) + timedelta(minutes=minutes)
)


@QUICK
@given(rules(), STARTS)
def test_shifting_by_four_hundred_years_changes_no_rule(rule: str, start: datetime) -> None:
    ours = list(itertools.islice(expand(rule, start, "UTC"), 30))
    assume(ours)  # what never occurs takes dateutil until the year 9999
    theirs = list(itertools.islice(rrulestr(rule, dtstart=start), len(ours)))
    assert ours == theirs


@QUICK
@given(rules(), STARTS, ZONES, st.integers(1, 2000))
def test_durations_are_exact_and_queries_fit_together(
    rule: str, start: datetime, zone: str, minutes: int
) -> None:
    schedule = Schedule(start=start, time_zone=zone, duration=minutes * 60, recurrence=rule)
    problems = check_schedule(schedule)
    assume(not any(problem.severity is Severity.ERROR for problem in problems))
    first = next(starts(schedule))
    everything = occurrences(schedule, after=0, before=first + 86_400 * 1_000)[:50]
    assert all(each.end - each.start == minutes * 60 for each in everything)
    assert list(everything) == sorted(set(everything))
    middle, last = everything[len(everything) // 2].start, everything[-1].start
    early = occurrences(schedule, after=0, before=middle)
    late = occurrences(schedule, after=middle, before=last + 1)
    assert tuple(sorted({*early, *late})) == everything


@QUICK
@given(STARTS, ZONES)
def test_a_fixed_start_reads_the_same_on_the_wall(start: datetime, zone: str) -> None:
    schedule = Schedule(start=start, time_zone=zone, duration=3_600)
    problems = check_schedule(schedule)
    assume(not any(problem.severity is Severity.ERROR for problem in problems))
    (found,) = occurrences(schedule, after=0, before=FOREVER)
    assert local_text(found.start, zone) == f"{start:%a %Y-%m-%d %H:%M}"


@QUICK
@given(st.text(max_size=40) | st.from_regex(r"(FREQ|BYDAY|UNTIL|COUNT)=[A-Z0-9,;=]{0,30}"))
def test_any_text_is_judged(text: str) -> None:
    problems = check_schedule(
        Schedule(
            start=datetime(2026, 12, 6, 22),  # noqa: DTZ001 - local on purpose
            time_zone="UTC",
            duration=3_600,
            recurrence=text,
        )
    )
    if text and not problems:
        assert list(itertools.islice(expand(text, EPOCH.replace(year=2026), "UTC"), 1))


@QUICK
@given(rules(), STARTS, st.integers(0, 60 * 366 * 24 * 60))
def test_a_rule_that_skips_ahead_has_the_same_times(rule: str, start: datetime, ahead: int) -> None:
    moment = start + timedelta(minutes=ahead)
    later = skip_to(rule, start, moment)
    assert start <= later <= moment
    until = moment + timedelta(days=800)
    in_time = expand(rule, start, "UTC")
    slow = itertools.takewhile(lambda at: at < until, itertools.islice(in_time, 20_000))
    every = list(slow)
    assume(len(every) < 20_000)
    skipped = itertools.takewhile(lambda at: at < until, expand(rule, later, "UTC"))
    assert [at for at in skipped if at > moment] == [at for at in every if at > moment]
