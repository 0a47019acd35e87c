"""Which openings an edit makes appear, move, vanish."""

from dataclasses import replace

from gitbot.calendar import CHANGE_WINDOW, Appointment, changed_openings
from gitbot.model.text.instants import FOREVER, Interval, parse_instant

NOW = parse_instant("2026-12-01T00:00:00Z")


def opening(day: int, *, hours: int = 4, name: str = "firmware") -> Appointment:
    start = NOW + day * 86_400
    time = Interval(start=start, end=start + hours * 3600)
    return Appointment(kind="window", name=name, time=time, zone="UTC")


def changes(before: list[Appointment], after: list[Appointment]) -> tuple[str, ...]:
    return changed_openings(before, after, now=NOW)


def test_what_stays_is_not_said() -> None:
    assert changes([opening(5)], [opening(5)]) == ()


def test_a_day_later_has_moved_and_a_week_later_is_another() -> None:
    assert changes([opening(5)], [opening(6)]) == (
        "window firmware: 1 moves: Sun 6 Dec 00:00-04:00 UTC to Mon 7 Dec 00:00-04:00 UTC",
    )
    assert changes([opening(5)], [opening(12)]) == (
        (
            "window firmware: 1 appears: Sun 13 Dec 00:00-04:00 UTC; "
            "1 vanishes: Sun 6 Dec 00:00-04:00 UTC"
        ),
    )
    assert changes([opening(5)], [opening(5, hours=2)]) == (
        "window firmware: 1 moves: Sun 6 Dec 00:00-04:00 UTC to Sun 6 Dec 00:00-02:00 UTC",
    )


def test_drain_without_schedule_is_not_open_for_ever() -> None:
    always = replace(opening(1), time=Interval(start=0, end=FOREVER))
    until = "from its merge until its nodes are back"
    assert changes([], [always]) == (f"window firmware: 1 appears: {until}",)
    change = replace(always, what=CHANGE_WINDOW)
    assert changes([], [change]) == ("window firmware: 1 appears: always",)


def test_a_freeze_that_has_begun_counts_and_a_window_does_not() -> None:
    begun = opening(0, hours=30)
    assert changes([], [begun]) == ()
    assert changes([], [replace(begun, kind="freeze")]) == (
        "freeze firmware: 1 appears: Tue 1 Dec 00:00 - Wed 2 Dec 06:00 UTC",
    )


def test_an_excluded_day_vanishes_and_a_long_list_is_cut() -> None:
    gone = replace(opening(5), cancelled="the day is excluded")
    assert changes([opening(5), opening(12)], [gone, opening(12)]) == (
        "window firmware: 1 vanishes: Sun 6 Dec 00:00-04:00 UTC",
    )
    (line,) = changes([], [opening(7 * week) for week in range(1, 11)])
    assert line.startswith("window firmware: 10 appear: Tue 8 Dec 00:00-04:00 UTC, Tue 15 Dec ")
    assert line.endswith(", and 4 more")


def test_the_past_and_requests_are_left_out() -> None:
    request = replace(opening(5), kind="request")
    assert changes([opening(-1), request], []) == ()
