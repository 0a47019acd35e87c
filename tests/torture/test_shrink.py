"""What is left of a schedule is needed for what goes wrong."""

from dataclasses import replace

import pytest

from tests.torture import shrink
from tests.torture.run import Outcome
from tests.torture.schedule import Fault, Schedule, schedule_of

LOST = Fault(call="create", number=1, how="answer lost")
NOTHING = frozenset[tuple[str, str]]()


def played(schedule: Schedule) -> Outcome:
    """Two executors and a lost answer break one promise, a single executor another one."""
    broken = "I20: another" if len(schedule.bots) == 1 else "I2: twice"
    return Outcome(
        broken=broken if LOST in schedule.faults else "",
        hits=NOTHING,
        created=0,
    )


def test_only_what_breaks_the_same_promise_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink, "play", played)
    long = next(
        schedule
        for schedule in map(schedule_of, range(1000))
        if len(schedule.bots) > 2 and len(schedule.faults) > 2 and len(schedule.deeds) > 1
    )
    short = shrink.shrunk(replace(long, faults=(*long.faults, LOST)))
    assert (len(short.bots), short.faults, short.deeds) == (2, (LOST,), ())
    assert all(getattr(short, name) == plain for name, plain in shrink.PLAIN.items())
    assert {bot.clock for bot in short.bots} == {0}
