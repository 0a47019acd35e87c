"""Plans with the exact solver: better where room is scarce, lawful, the same on every run."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from gitbot.constraints.replay import replay
from gitbot.errors import UsageError
from gitbot.model.plan import PlacementPlan
from gitbot.planner import make_plan
from tests.bench.bench_scarce import scarce
from tests.bench.instance import Instance, Outcome, moves_of, problem
from tests.laws.tiny import problem_of
from tests.laws.tiny_scarce import scarce as tiny_scarce

BETTER = 35  # a seed of which chains of VMs that step aside need 11 moves


def drawn(seed: int) -> Instance:
    case = scarce(seed)
    assert case is not None
    return case


def test_the_solver_finds_fewer_moves(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    case = drawn(BETTER)
    asked = replace(problem(case), solver=True)
    plan, alone = make_plan(asked), make_plan(problem(case))
    assert (len(plan.moves), len(alone.moves)) == (9, 11)
    assert replay(asked, plan) == ()
    assert Outcome.of(case, moves_of(plan)).left == 0
    assert make_plan(asked) == plan
    assert capfd.readouterr() == ("", "")


def test_with_rules_of_all_kinds_its_plans_are_lawful_and_never_worse() -> None:
    pytest.importorskip("highspy")
    for seed in range(12):
        alone = problem_of(tiny_scarce(seed))
        asked = replace(alone, solver=True)
        plan, without = make_plan(asked), make_plan(alone)
        assert replay(asked, plan) == ()
        assert _cost(plan) <= _cost(without), seed


def _cost(plan: PlacementPlan) -> tuple[int, int]:
    return sum(hold.asked for hold in plan.holds), len(plan.moves)


def test_a_solver_that_is_missing_is_an_error_and_never_another_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError) as failure:
        make_plan(replace(problem(drawn(BETTER)), solver=True))
    assert "gitbot[solver]" in failure.value.hint
    assert make_plan(problem(drawn(BETTER))).moves
