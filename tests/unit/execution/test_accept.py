"""Which approvals count, and what a newer plan takes the place of."""

import pytest

from gitbot.execution.admit_plans import deduplicate
from gitbot.execution.executor_types import Approved
from gitbot.model.plan.plan import Move
from tests.unit.execution.scene import World, move


def world() -> World:
    return World.of("a", "b", "c", one="a", two="a")


def approvals(*terms: dict[str, str]) -> tuple[Approved, ...]:
    scene = world()
    for each in terms:
        scene.approve(move("one", "a", "c"), **each)
    return tuple(scene.approved)


BARRED = {"void": "edited"}
WAITS = {"consent": "bob has not approved it"}


@pytest.mark.parametrize(
    ("terms", "first"),
    [
        (({}, {}), 0),
        ((BARRED, {}), 1),
        ((WAITS, {}), 1),
        (({}, BARRED), 0),
        ((BARRED, WAITS), 0),
        ((BARRED, {}, {}), 1),
    ],
)
def test_of_approvals_of_one_plan_the_first_that_may_start_counts(
    terms: tuple[dict[str, str], ...], first: int
) -> None:
    approved = approvals(*terms)
    (found,) = deduplicate(approved)
    assert found is approved[first]


@pytest.mark.parametrize(
    ("second", "lines"),
    [
        (move("one", "a", "b", 2, group="other"), ["1 withdrawn", "2 approved"]),
        (move("two", "a", "b", 2, group="one"), ["1 withdrawn", "2 approved"]),
        (move("two", "a", "b", 2, group="other"), ["2 approved"]),
    ],
    ids=["the same VM", "the same group", "neither"],
)
def test_a_newer_plan_replaces_moves_of_its_vms_and_groups(second: Move, lines: list[str]) -> None:
    scene = world()
    scene.view["stop"] = "by hand"
    scene.approve(move("one", "a", "c"))
    assert scene.step() == ["1 approved"]
    scene.approve(second, digest="sha256:1")
    assert scene.step() == lines


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
def test_a_newer_plan_replaces_nothing_that_may_come_or_runs(phase: str) -> None:
    scene = world()
    scene.approve(move("one", "a", "c"))
    assert scene.step() == ["1 approved", "1 intended"]
    if phase:
        scene.run(phase)
        scene.step()
    scene.view["stop"] = "by hand"
    scene.approve(move("one", "a", "b", 2), digest="sha256:1", concern="rest")
    assert scene.step() == ["2 approved"]


def test_a_person_s_plan_adds_nothing_to_a_request_that_began() -> None:
    scene = world()
    scene.approve(move("one", "a", "c"))
    assert scene.step() == ["1 approved", "1 intended"]
    scene.approve(move("two", "a", "c", 2), digest="sha256:1")
    assert scene.step() == []


def test_a_person_s_plan_adds_nothing_to_a_request_that_ended_without_a_migration() -> None:
    scene = world()
    del scene.vms["one"]
    scene.approve(move("one", "a", "c"))
    assert scene.step() == ["1 approved", "1 obsolete"]
    scene.approve(move("two", "a", "c", 2), digest="sha256:1")
    assert scene.step() == []
