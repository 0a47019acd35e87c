"""More room, fewer goals, another order of objects or a minute later make no plan worse."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from tests.depth import some_at_merge
from tests.doubles.problems import ZONE, node
from tests.laws.mornings import Morning, morning
from tests.laws.mornings_remedies import answered
from tests.laws.mornings_words import belongs, vm_of

LATER = "2026-12-06T21:01:00Z"
Held = tuple[str, str, str]
T = TypeVar("T")


def held(document: dict[str, Any]) -> dict[Held, dict[str, Any]]:
    """The holds of what was asked for, by intent and VM."""
    return {
        (hold["intent"]["kind"], hold["intent"]["name"], hold["vm"]["name"]): hold
        for hold in document.get("holds", ())
        if hold["asked"]
    }


def shuffled(case: Morning, draw: random.Random) -> Morning:
    def some(items: Sequence[T]) -> tuple[T, ...]:
        return tuple(draw.sample(list(items), len(items)))

    return replace(
        case,
        nodes=some(case.nodes),
        vms=some([some(group) for group in case.vms]),
        strangers=some(case.strangers),
    )


def with_more_room(case: Morning) -> Morning:
    zone = case.nodes[0]["metadata"]["labels"][ZONE]
    large = node("zz", zone=zone, labels={"disk": "ssd"}, cpu="64", memory="64Gi")
    return replace(case, nodes=(*case.nodes, large))


def worse(seed: int) -> list[str]:
    """In what the plan of a morning is worse after a change that should help, or not matter."""
    case = morning(seed, most=6)
    before = answered(case)
    if before["kind"] == "FindingList":
        return []
    known, found = held(before), []
    if answered(shuffled(case, random.Random(seed))) != before:
        found.append("order: another plan")
    roomy = answered(with_more_room(case))
    if len(held(roomy)) > len(known):
        found.append(f"room: {len(held(roomy))} held, {len(known)} before")
    found += [
        f"later: {key} is held: {hold['reason']}"
        for key, hold in held(answered(case, now=LATER)).items()
        if key not in known and hold["code"] not in ("deadline", "frozen")  # time is the reason
    ]
    for number, intent in enumerate(case.intents):
        rest = (*case.intents[:number], *case.intents[number + 1 :])
        # a VM that the intent moved is where it was, and what it left is not free
        moved = {vm_of(move)[1] for move in before["moves"] if belongs(move, intent)}
        mine = (intent["kind"], intent["metadata"]["name"])
        kept = [key for key in known if key[:2] != mine]
        now = [key for key in held(answered(replace(case, intents=rest))) if key[2] not in moved]
        if len(now) > len(kept) + len(moved):
            found.append(f"fewer goals: without {mine} are held: {sorted(set(now) - set(kept))}")
    return [f"{seed}: {line}" for line in found]


def test_no_plan_gets_worse() -> None:
    assert [line for seed in (3, 30) for line in worse(seed)] == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", some_at_merge(range(0, 70, 10), 3))
def test_no_plan_of_many_mornings_gets_worse(first: int) -> None:
    assert [line for seed in range(first, first + 10) for line in worse(seed)] == []
