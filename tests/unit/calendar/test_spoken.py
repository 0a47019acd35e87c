"""Times and durations as people type them."""

import pytest

from gitbot.calendar import localized, spoken_duration, spoken_past, spoken_time, time_in_full
from gitbot.model.plan.findings import Refusal
from gitbot.model.text.instants import format_instant, parse_instant

MADRID = "Europe/Madrid"
THURSDAY = parse_instant("2026-11-26T20:30:00Z")  # 21:30 there


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("22:00", "2026-11-26T21:00:00Z"),
        ("21:30", "2026-11-27T20:30:00Z"),
        ("9:05", "2026-11-27T08:05:00Z"),
        ("10pm", "2026-11-26T21:00:00Z"),
        ("12am", "2026-11-26T23:00:00Z"),
        ("12:15 pm", "2026-11-27T11:15:00Z"),
        ("tonight", "2026-11-26T21:00:00Z"),
        ("Tonight 23:30", "2026-11-26T22:30:00Z"),
        ("tonight 1am", "2026-11-27T00:00:00Z"),
        ("today 20:00", "2026-11-26T19:00:00Z"),
        ("tomorrow 22:00", "2026-11-27T21:00:00Z"),
        ("Sat 22:00", "2026-11-28T21:00:00Z"),
        ("thursday 10pm", "2026-11-26T21:00:00Z"),
        ("Thu 21:00", "2026-12-03T20:00:00Z"),
        ("2026-11-27 22:00", "2026-11-27T21:00:00Z"),
        ("2026-07-27T22:00", "2026-07-27T20:00:00Z"),
        ("2026-07-27T22:00:00", "2026-07-27T20:00:00Z"),
        ("2026-11-27T22:00:57", "2026-11-27T21:00:57Z"),
        ("2026-11-27T22:00+02:00", "2026-11-27T20:00:00Z"),
        ("2026-11-27T22:00:00Z", "2026-11-27T22:00:00Z"),
        ("in 2h", "2026-11-26T22:30:00Z"),
        ("in 1d 30m", "2026-11-27T21:00:00Z"),
        ("in 30s", "2026-11-26T20:30:30Z"),
    ],
)
def test_times(text: str, instant: str) -> None:
    assert format_instant(spoken_time(text, MADRID, now=THURSDAY)) == instant


@pytest.mark.parametrize(
    "text",
    ["", "10", "soon", "tomorrow", "Sat", "25:00", "13pm", "0pm", "in", "in a while", "m 10:00",
     "2026-02-30 10:00", "2027-03-28 02:30", "22:00 tonight", "-2h"],
)  # fmt: skip
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        spoken_time(text, MADRID, now=THURSDAY)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("30d", "2026-10-27T20:30:00Z"),
        ("P1D", "2026-11-25T20:30:00Z"),
        ("2h ago", "2026-11-26T18:30:00Z"),
        ("today", "2026-11-25T23:00:00Z"),
        ("yesterday", "2026-11-24T23:00:00Z"),
        ("Yesterday 6pm", "2026-11-25T17:00:00Z"),
        ("22:00", "2026-11-25T21:00:00Z"),
        ("20:00", "2026-11-26T19:00:00Z"),
        ("Mon", "2026-11-22T23:00:00Z"),
        ("Thu 21:00", "2026-11-26T20:00:00Z"),
        ("Thu 22:00", "2026-11-19T21:00:00Z"),
        ("last week", "2026-11-15T23:00:00Z"),
        ("this month", "2026-10-31T23:00:00Z"),
        ("last month", "2026-09-30T22:00:00Z"),
        ("last year", "2024-12-31T23:00:00Z"),
        ("2026-11-01", "2026-10-31T23:00:00Z"),
        ("2026-11-01 22:00", "2026-11-01T21:00:00Z"),
        ("2026-10-01T00:00:00Z", "2026-10-01T00:00:00Z"),
    ],
)
def test_times_that_are_over(text: str, instant: str) -> None:
    assert format_instant(spoken_past(text, MADRID, now=THURSDAY)) == instant


@pytest.mark.parametrize(
    "text", ["", "0d", "soon", "tonight", "tomorrow", "next month", "25:00", "2026-02-30"]
)
def test_times_that_cannot_be_over_are_refused(text: str) -> None:
    with pytest.raises(Refusal, match="30d, yesterday, last month, 2026-11-01"):
        spoken_past(text, MADRID, now=THURSDAY)


def test_a_date_alone_is_refused_with_the_words_to_type() -> None:
    with pytest.raises(Refusal) as refused:
        spoken_time("2026-12-28", MADRID, now=THURSDAY)
    assert refused.value.hint == "add the time of day: 2026-12-28 00:00"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("4h", 14_400), ("1d12h", 129_600), ("90m", 5_400), ("90min", 5_400), ("30d", 2_592_000),
     ("2w", 1_209_600), ("1 h 30 m", 5_400), ("90s", 90), ("1m30s", 90), ("PT4H", 14_400)],
)  # fmt: skip
def test_durations(text: str, seconds: int) -> None:
    assert spoken_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0h", "0s", "4", "-1h", "4x"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        spoken_duration(text)


def test_what_was_understood_in_full() -> None:
    now = THURSDAY
    full = "Thu 2026-11-26 22:00 Europe/Madrid (2026-11-26T21:00:00Z), in 30 min"
    assert time_in_full(spoken_time("tonight", MADRID, now=now), MADRID, now=now) == full


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("until 2026-11-26T21:00:00Z", "until Thu 2026-11-26 22:00 Europe/Madrid (in 30 min)"),
        ("(now 2026-11-26T20:29:30Z)", "(now Thu 2026-11-26 21:29:30 Europe/Madrid (30 s ago))"),
        ("before `2026-11-26T21:00:00Z`", "before Thu 2026-11-26 22:00 Europe/Madrid (in 30 min)"),
        # in brackets, after the local time
        ("22:00 (2026-11-26T21:00:00Z)", "22:00 (2026-11-26T21:00:00Z)"),
        ("(2026-11-26T21:00:00Z to 2026-11-26T22:00:00Z)",) * 2,
        ("drain/night/20261126T210000Z",) * 2,
        ("2026-13-26T21:00:00Z",) * 2,
    ],
)
def test_instants_of_a_text_in_the_zone_of_the_cluster(text: str, local: str) -> None:
    assert localized(text, MADRID, now=THURSDAY) == local
    assert localized("2026-11-26T21:00:00Z", MADRID) == "Thu 2026-11-26 22:00 Europe/Madrid"
