"""The smallest schedule that still goes wrong in the same way."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from tests.torture.run import play
from tests.torture.schedule import Schedule

T = TypeVar("T")
PLAIN = {
    "attempts": 1,
    "takes": 10,
    "done": "Uncordoned",
    "anchored": False,
    "finish": False,
    "slots": 3,
    "window": 1200,
    "uneven": False,
    "reports": False,
    "lingers": 0,
    "strangers": (),
    "scene": "one",
}


def shrunk(schedule: Schedule) -> Schedule:
    """Leave out and simplify while the same promise is broken."""
    promise = _promise(schedule)
    assert promise, "only what goes wrong can be shrunk"
    smaller = True
    while smaller:
        smaller = False
        for candidate in _simpler(schedule):
            if _promise(candidate) == promise:
                schedule, smaller = candidate, True
                break
    return schedule


def _promise(schedule: Schedule) -> str:
    return play(schedule).broken.partition(":")[0]


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    for index in range(len(schedule.bots) if len(schedule.bots) > 1 else 0):
        yield replace(schedule, bots=_without(schedule.bots, index))
    for index in range(len(schedule.faults)):
        yield replace(schedule, faults=_without(schedule.faults, index))
    for index in range(len(schedule.deeds)):
        yield replace(schedule, deeds=_without(schedule.deeds, index))
    for name, plain in PLAIN.items():
        if getattr(schedule, name) != plain:
            yield replace(schedule, **{name: plain})  # type: ignore[arg-type]
    for index, bot in enumerate(schedule.bots):
        for name, value in (("clock", 0), ("runtime", 3600), ("begins", index * 7), ("rest", 30)):
            if getattr(bot, name) != value:
                simpler = replace(bot, **{name: value})
                bots = (*schedule.bots[:index], simpler, *schedule.bots[index + 1 :])
                yield replace(schedule, bots=bots)


def _without(items: tuple[T, ...], index: int) -> tuple[T, ...]:
    return (*items[:index], *items[index + 1 :])
