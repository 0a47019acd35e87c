"""What a pass does about a concern that the planner contradicts itself about: go on, and say so."""

from typing import Any

import pytest

from gitbot.planner.plan_types import Step
from gitbot.planner.state.plan_state import PlanState
from gitbot.ports.forge import PullState
from gitbot.workflows.check import publish
from gitbot.workflows.core import judged_plan
from gitbot.workflows.propose import propose
from gitbot.workflows.propose.proposal import judge_concern
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_propose import HEAL, actions

JUMP = "request-customapp-jump"
PLANTED = "planted"


def without_jumpbox(patch: pytest.MonkeyPatch) -> None:
    """The planner raises wherever a plan moves the jumpbox."""
    take = PlanState.take

    def planted(self: PlanState, step: Step) -> None:
        assert step.vm.name != "jumpbox", PLANTED
        take(self, step)

    patch.setattr(PlanState, "take", planted)


def test_other_concerns_are_proposed_and_the_fault_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(db=RULE, jump=REQUEST)
    without_jumpbox(monkeypatch)
    result = propose(story.shell)
    assert actions(result) == {HEAL: "opened", JUMP: "waiting"}
    (fault,) = result.faults
    assert (result.internal, fault.vm, fault.what) == (1, "customapp/jumpbox", "AssertionError")
    assert PLANTED not in repr(result)


def test_a_pass_counts_its_faults_and_writes_nothing_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(db=RULE, jump=REQUEST)
    without_jumpbox(monkeypatch)
    assert reconcile(story.shell).internal == 1
    again = reconcile(story.shell)
    assert (again.internal, again.did_nothing) == (1, True)


def test_an_open_proposal_stays_if_nothing_of_its_plan_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(jump=REQUEST)
    assert actions(propose(story.shell)) == {JUMP: "opened"}
    without_jumpbox(monkeypatch)
    assert actions(propose(story.shell)) == {JUMP: "waiting"}
    (pull,) = story.pulls()
    assert pull.state is PullState.OPEN


def test_a_concern_that_cannot_be_judged_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=RULE, jump=REQUEST)

    def planted(base: Any, sources: Any, concern: Any, plan_of: Any) -> Any:
        assert concern.name != JUMP
        return judge_concern(base, sources, concern, plan_of)

    monkeypatch.setattr("gitbot.workflows.propose.run.judge_concern", planted)
    result = propose(story.shell)
    assert actions(result) == {HEAL: "opened", JUMP: "waiting"}
    assert result.internal == 1


def test_a_pull_request_shows_what_its_plan_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    without_jumpbox(monkeypatch)
    result = publish(story.shell, number=pull.number)
    assert len(result.check.faults) == 1
    (comment,) = story.forge.list_comments(pull.number)
    assert judged_plan.INTERNAL in comment.body
    assert "report it with this line: gitbot " in comment.body
    assert PLANTED not in comment.body
