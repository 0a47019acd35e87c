"""Moves that would start now, as a plan: its waves and times, its requests, and what refuses it."""

from typing import Any

import pytest

from gitbot.execution.start_trials import LIMIT, refusals, trial_plan
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, PlacementPlan, Wave
from gitbot.model.plan.problem import MoveVms, PlacementProblem
from tests.unit.execution.scene import NOW, World, move

OTHER = RequestId.read("request/db/two")


@pytest.fixture
def world() -> World:
    return World.of("a", "b", "c", one="a", two="a", three="b")


def times(moves: tuple[Move, ...]) -> list[tuple[int, int, int]]:
    return [(item.id, item.wave, item.starts) for item in moves]


def test_a_trial_starts_now_and_keeps_the_distance_of_its_moves(world: World) -> None:
    moves = (
        move("three", "b", "c", 3, wave=2, starts=NOW + 900, estimated_seconds=7),
        move("one", "a", "c", 1, wave=0, starts=NOW + 600),
        move("two", "a", "c", 2, wave=0, starts=NOW + 640, estimated_seconds=90),
    )
    plan = trial_plan(world.look(), moves)
    assert times(plan.moves) == [(1, 0, NOW), (2, 0, NOW + 40), (3, 1, NOW + 300)]
    assert plan.waves == (
        Wave(index=0, starts=NOW, ends=NOW + 90),
        Wave(index=1, starts=NOW + 90, ends=NOW + 97),
    )


def test_a_plan_of_an_older_gitbot_has_waves_and_no_times(world: World) -> None:
    moves = (move("one", "a", "c", wave=3), move("three", "b", "c", 2, wave=5))
    assert times(trial_plan(world.look(), moves).moves) == [(1, 0, 0), (2, 1, 0)]


def test_without_moves_a_trial_is_empty(world: World) -> None:
    plan = trial_plan(world.look(), ())
    assert (plan.moves, plan.waves) == ((), ())


def test_each_request_is_a_goal_with_its_own_vms(world: World) -> None:
    seen: list[PlacementProblem] = []

    def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        del plan
        seen.append(problem)
        return ()

    world.view["replay"] = replay
    moves = (
        move("one", "a", "c"),
        move("three", "b", "c", request=OTHER),
        move("two", "a", "c", 2),
    )
    assert refusals(world.look(), moves) == ()
    assert seen[0].at_once, "pods that are about to leave may be gone by then"
    goals = [goal for goal in seen[0].goals if isinstance(goal, MoveVms)]
    assert [(str(goal.request.id), [vm.name for vm in goal.vms]) for goal in goals] == [
        ("request/db/one", ["one", "two"]),
        ("request/db/two", ["three"]),
    ]


@pytest.mark.parametrize(
    ("severity", "code", "refused"),
    [
        (Severity.ERROR, "constraints/landing", True),
        (Severity.WARNING, "constraints/landing", False),
        (Severity.ERROR, LIMIT, False),  # the slots decide how many start
    ],
)
def test_only_errors_that_are_not_about_limits_refuse(
    world: World, severity: Severity, code: str, refused: bool
) -> None:
    def replay(*_: Any) -> tuple[Finding, ...]:
        return (Finding(code=code, severity=severity, message="full"),)

    world.view["replay"] = replay
    assert refusals(world.look(), (move("one", "a", "c"),)) == (("full",) if refused else ())
