"""Every effect, cut off at every moment, and every way that it may go on: all of them.

An effect is cut off before it is sent, on its way, after its answer, or around any push that
announces or records it. Then the same bot begins again, another one goes on, nobody does until its
window is over, or a person cancels.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest

from tests.torture.run import play
from tests.torture.schedule import Bot, Deed, Fault, Schedule

NEVER = 10_000  # seconds: longer than the run
CREATE = Schedule(seed=0, scene="waves", bots=(), uneven=False, takes=10)
DRAIN = replace(CREATE, scene="drain", window=600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One kind of write. `pushes`: how many an undisturbed run has at most."""

    call: str
    schedule: Schedule
    pushes: int = 6


EFFECTS = (
    Effect(call="create", schedule=CREATE),
    Effect(
        call="delete",
        schedule=replace(
            CREATE, takes=25, deeds=(Deed(what="cancel", moment="answered", number=1),)
        ),
    ),
    Effect(call="cordon", schedule=DRAIN),
    Effect(call="label", schedule=DRAIN),
    Effect(
        call="uncordon",
        schedule=replace(DRAIN, deeds=(Deed(what="cancel", moment="cordoned", number=1),)),
    ),
)
MOMENTS = ("before", "on its way", "answered", "half recorded")
NEXT = ("the same bot", "another bot", "its window is over", "a person cancels")
CUTS = {
    "before": ("crash before", "unsent", "pause before"),
    "on its way": ("crash sent", "late", "lost", "error 500"),
    "answered": ("crash done", "answer lost", "done 500", "pause after"),
}
PUSHES = ("crash before", "crash done", "answer lost", "lost race", "pause before", "pause after")


def cuts(effect: Effect, moment: str) -> list[Fault]:
    if moment == "half recorded":
        numbers = range(1, effect.pushes + 1)
        return [
            Fault(call="push", number=number, how=how, seconds=70)
            for number, how in itertools.product(numbers, PUSHES)
        ]
    return [
        Fault(call=effect.call, number=number, how=how, seconds=seconds)
        for how in CUTS[moment]
        for number in (1, 2)
        for seconds in ((5, 39, 58) if how in ("crash sent", "late") else (70,))
    ]


def follows(schedule: Schedule, after: str, fault: Fault) -> Schedule:
    one = Bot(runtime=3600, rest=5)
    schedule = replace(schedule, faults=(fault,), bots=(one,))
    match after:
        case "another bot":
            return replace(schedule, bots=(replace(one, rest=NEVER), replace(one, begins=3)))
        case "its window is over":
            return replace(schedule, bots=(replace(one, rest=NEVER),), window=150)
        case "a person cancels":
            when = Deed(what="cancel", moment=fault.call, number=fault.number)
            return replace(schedule, deeds=(*schedule.deeds, when, Deed(what="cancel", at=90)))
        case _:
            return schedule


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.call)
def test_every_effect_cut_off_at_every_moment(effect: Effect) -> None:
    met: set[tuple[str, str]] = set()
    for moment, after in itertools.product(MOMENTS, NEXT):
        for fault in cuts(effect, moment):
            schedule = follows(effect.schedule, after, fault)
            outcome = play(schedule)
            assert outcome.broken == "", schedule
            if (fault.call, fault.how) in outcome.hits:
                met.add((moment, after))
    assert met == set(itertools.product(MOMENTS, NEXT))
