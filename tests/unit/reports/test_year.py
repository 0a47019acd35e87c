"""The year of windows in the report: rows before and after, marks in their place."""

from dataclasses import replace

from gitbot.calendar import Appointment
from gitbot.model.text.instants import Interval, parse_instant
from gitbot.reports.html.year_chart import MOST, WIDTH, YearAhead, year_picture

NOW = parse_instant("2026-12-01T00:00:00Z")
DAY = 86_400


def opening(day: int, name: str = "firmware") -> Appointment:
    start = NOW + day * DAY
    time = Interval(start=start, end=start + 4 * 3600)
    return Appointment(kind="window", name=name, time=time, zone="UTC")


def year(after: list[Appointment], before: list[Appointment] | None = None) -> YearAhead:
    old = None if before is None else tuple(before)
    return YearAhead(
        start=NOW, end=NOW + 366 * DAY, zone="Europe/Madrid", after=tuple(after), before=old
    )


def rows(ahead: YearAhead) -> list[tuple[str, list[str]]]:
    found = year_picture(ahead)
    return (
        [(lane.label, [mark.kind for mark in lane.marks]) for lane in found.lanes] if found else []
    )


def test_a_window_that_does_not_change_has_one_row() -> None:
    assert rows(year([opening(5), opening(40)])) == [("firmware", ["kept", "kept"])]
    assert rows(year([opening(5)], [opening(5)])) == [("firmware", ["kept"])]
    assert rows(year([])) == []
    assert year_picture(None) is None


def test_what_changes_stands_before_and_after() -> None:
    freeze = replace(opening(8, "close"), kind="freeze")
    gone = replace(opening(12), cancelled="the day is excluded")
    ahead = year([opening(5), opening(19), gone, freeze], [opening(5), opening(12), freeze])
    assert rows(ahead) == [
        ("before firmware", ["kept", "gone"]),
        ("after firmware", ["kept", "fresh"]),
        ("close", ["frozen"]),
    ]
    assert rows(year([], [opening(5)])) == [("before firmware", ["gone"]), ("after firmware", [])]


def test_marks_and_months_are_in_their_place() -> None:
    found = year_picture(year([opening(5), opening(300)]))
    assert found is not None
    first, last = found.lanes[0].marks
    assert found.left < first.x < last.x < WIDTH
    assert first.title == "Sun 6 Dec 00:00-04:00 UTC"
    assert [text for _, text in found.ticks][:2] == ["Jan 2027", "Feb"]
    assert found.ticks[-1][1] == "Nov"  # there is no room for the name of December
    assert len(found.ticks) == 11
    assert [x for x, _ in found.ticks] == sorted(x for x, _ in found.ticks)
    crowd = year_picture(year([opening(5, f"w{number:02}") for number in range(MOST + 3)]))
    assert crowd is not None
    assert (len(crowd.lanes), crowd.left_out) == (MOST, 3)
