"""Concerns whose planning takes too long: the pass goes on without them, and status names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitbot.errors import LimitExceeded, UserInterrupt
from gitbot.execution.ledger_folds import fold_concern
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import HealRule, PlacementProblem
from gitbot.planner import make_plan
from gitbot.workflows.ask import status
from gitbot.workflows.core.context import ANSWER_TIMEOUT, PLANNING_TIMEOUT, RunContext
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story

SLOW = f"planning took longer than {PLANNING_TIMEOUT} s"
HEAL, MOVE = "heal-zoneantiaffinity-customapp-mssql2016", "request-customapp-jump"


class Planner:
    """Takes too long for healings, or for all problems that `slow` names. Counts what it plans."""

    def __init__(self) -> None:
        self.slow: Callable[[PlacementProblem], bool] = lambda problem: any(
            isinstance(goal, HealRule) for goal in problem.goals
        )
        self.planned: list[str] = []

    def __call__(
        self, problem: PlacementProblem, stopped: Callable[[], bool], seconds: int
    ) -> PlacementPlan:
        if stopped():
            raise UserInterrupt("ended as asked")
        self.planned.extend(goal.request.id for goal in problem.goals)
        if self.slow(problem):
            raise LimitExceeded(f"planning took longer than {seconds} s")
        return make_plan(problem)


def with_planner(story: Story, planner: Planner) -> RunContext:
    return replace(story.shell, plan_apart=planner)


def actions(story: Story, planner: Planner) -> dict[str, str]:
    result = propose(with_planner(story, planner))
    return {item.concern: item.action for item in result.concerns}


def test_pass_goes_on_without_the_plan_and_says_so() -> None:
    story, planner = Story.begin(db=RULE, jump=REQUEST), Planner()
    result = reconcile(with_planner(story, planner))
    found = {item.concern: (item.action, item.reason) for item in result.proposed.concerns}
    assert found[HEAL] == ("waiting", f"{SLOW}; planned again in 3600 s")
    assert found[MOVE][0] == "opened"
    assert result.unsure
    (line,) = status(story.shell).not_planned
    assert line.request == "heal/customapp/ZoneAntiAffinity/mssql2016"
    assert line.reason.startswith("zone sab holds 2 of at most 1: ")
    assert line.reason.endswith(f"; there is no plan: {SLOW}")


def test_it_is_planned_again_after_an_hour_or_when_something_else_is_seen() -> None:
    story, planner = Story.begin(db=RULE), Planner()
    assert actions(story, planner) == {HEAL: "waiting"}
    entries = len(story.store.read().events)
    story.port.sleep(600)
    assert actions(story, planner) == {HEAL: "waiting"}
    assert (len(planner.planned), len(story.store.read().events)) == (1, entries)
    story.port.sleep(3_600)
    planner.slow = lambda _: False
    assert actions(story, planner) == {HEAL: "opened"}
    record = fold_concern(story.store.read(), cluster=CLUSTER, concern=HEAL)
    assert record.no_plan == ""
    assert status(story.shell).not_planned == ()


def test_open_pull_request_stays_while_its_plan_takes_too_long() -> None:
    story, planner = Story.begin(db=RULE), Planner()
    propose(story.shell)
    (pull,) = story.pulls()
    story.port.sleep(60)
    assert actions(story, planner) == {HEAL: "waiting"}
    assert [each.number for each in story.pulls()] == [pull.number]


def test_status_waits_a_minute_for_a_plan_that_no_pass_has_made() -> None:
    story, planner = Story.begin(jump=REQUEST), Planner()
    planner.slow = lambda _: True
    (line,) = status(with_planner(story, planner)).not_planned
    assert line.reason == f"planning took longer than {ANSWER_TIMEOUT} s"


def test_run_that_is_to_end_proposes_nothing() -> None:
    story, planner = Story.begin(jump=REQUEST), Planner()
    shell = replace(with_planner(story, planner), interrupted=lambda: True)
    with pytest.raises(UserInterrupt):
        propose(shell)
    assert story.pulls() == ()
