import pytest

from gitbot.errors import Bug
from gitbot.simulation.virtual_clock import VirtualClock


def run(clock: VirtualClock, until: int) -> None:
    while (due := clock.next_instant()) is not None and due <= until:
        clock.move_to(due)
        while action := clock.pop_due():
            action()


def test_actions_run_by_time_and_then_by_the_order_in_which_they_were_set() -> None:
    clock, seen = VirtualClock(100), []
    for instant, name in [(105, "c"), (101, "a"), (105, "d"), (103, "b"), (50, "past")]:
        clock.at(instant, lambda name=name: seen.append((clock.now(), name)))  # type: ignore[misc]
    run(clock, 104)
    assert seen == [(100, "past"), (101, "a"), (103, "b")]
    run(clock, 200)
    assert seen[3:] == [(105, "c"), (105, "d")]


def test_a_cancelled_action_does_not_run_and_is_not_waited_for() -> None:
    clock, seen = VirtualClock(0), []
    number = clock.at(10, lambda: seen.append("no"))
    clock.cancel(number)
    clock.cancel(number)
    assert clock.next_instant() is None
    assert clock.pop_due() is None
    assert seen == []


def test_time_does_not_go_back() -> None:
    clock = VirtualClock(10)
    with pytest.raises(Bug, match="went back from 10 to 9"):
        clock.move_to(9)
