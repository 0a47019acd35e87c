"""What was approved is judged again when it is applied: policies, the base, and healed rules."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.execution.executor_types import Terms
from gitbot.execution.request_records import fold_requests
from gitbot.execution.start_waits import BACK_OFF
from gitbot.kubernetes.objects import labels_of
from gitbot.model.ledger.request_id import RequestId
from gitbot.policy import read_policies
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.unit.workflows.story import Story

RULES = "\n  validations: [{"
DENIES: dict[str, str] = {
    "Plan": "over: Plan" + RULES + "expression: plan.moves.size() == 0, message: denied}]",
    "Move": "over: Move" + RULES + "expression: move.vm.name != 'jumpbox', message: denied}]",
    "Intent": "over: Intent" + RULES + "expression: intent.name != 'jump', message: denied}]",
    "error": "over: Move" + RULES + "expression: size(vm.labels.nothing) == 1, message: denied}]",
}
JUMP = RequestId.read("request/customapp/jump")


def policy(spec: str, action: str = "Deny") -> str:
    head = f"{HEAD}kind: PlacementPolicy\nmetadata: {{name: late}}\n"
    return f"{head}spec:\n  {spec}\n  validationActions: [{action}]\n"


def shown(story: Story, number: int) -> None:
    publish(story.shell, number=number)


def approved() -> Story:
    """A request is shown and merged, and nothing is applied yet."""
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    shown(story, pull.number)
    story.merge(pull.number)
    return story


@pytest.mark.parametrize("over", DENIES)
def test_a_policy_that_is_merged_after_the_plan_was_shown_stops_it(over: str) -> None:
    story = approved()
    story.commit(**{"policies/late.yaml": policy(DENIES[over])})
    result = apply(story.shell)
    assert result.created == 0
    (stale,) = result.stale
    assert "policy/late" in stale.reasons[0]
    assert fold_requests(story.store.read(), "iberia")[JUMP].state == "held"
    gone: dict[str, Any] = {"policies/late.yaml": None}
    story.commit(**gone)
    assert apply(story.shell).states == {"succeeded": 1}


def test_a_policy_that_only_warns_stops_nothing() -> None:
    story = approved()
    story.commit(**{"policies/late.yaml": policy(DENIES["Plan"], "Warn")})
    assert apply(story.shell).states == {"succeeded": 1}


def test_a_label_that_a_policy_denies_stops_a_move_before_its_opening() -> None:
    story = approved()
    instance = story.cluster.get("VirtualMachineInstance", "jumpbox", "customapp")
    assert instance is not None
    labels: dict[str, Any] = {**labels_of(instance), "placement.gitbot.dev/protected": "true"}
    story.cluster.apply([{**instance, "metadata": {**instance["metadata"], "labels": labels}}])
    result = apply(story.shell)
    assert result.created == 0
    assert "policy/protected-vms" in result.stale[0].reasons[0]


def test_a_policy_that_is_merged_after_a_failed_attempt_stops_the_next_one() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.cluster.fails = {"one"}
    stage.base.terms_by_request["request/db/one"] = Terms(attempts=2)
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell, max_runtime=BACK_OFF // 2)
    assert stage.states()[-1] == "1 failed"
    late, _ = read_policies(
        {"policies/late.yaml": policy(DENIES["Move"].replace("jumpbox", "one"))}
    )
    stage.base = replace(stage.base, revision=replace(stage.base.revision, policies=late))
    stage.clock.sleep(BACK_OFF)
    (stale,) = apply(stage.shell).stale
    assert "policy/late" in stale.reasons[0]
    assert stage.states()[-1] == "1 held"
    assert len(stage.cluster.creates()) == 1


def test_a_policy_stops_the_moves_it_denies_and_no_others() -> None:
    story = Story.begin(rule=RULE)
    reconcile(story.shell)
    story.merge()
    pull = story.open(jump=REQUEST)
    shown(story, pull.number)
    story.merge(pull.number)
    story.commit(**{"policies/late.yaml": policy(DENIES["Move"])})
    result = apply(story.shell)
    assert result.states == {"succeeded": 1}
    assert [item.request for item in result.stale] == [JUMP]


def test_a_healing_whose_rule_was_edited_after_its_approval_is_not_carried_out() -> None:
    story = Story.begin(rule=RULE)
    reconcile(story.shell)
    story.merge()
    story.commit(rule=RULE + "  maxPerDomain: 2\n")
    where = story.where()
    assert apply(story.shell).created == 0
    assert story.where() == where


def test_a_merge_on_a_base_that_was_edited_since_the_plan_was_shown_approves_nothing() -> None:
    story = Story.begin(rule=RULE)
    pull = story.open(jump=REQUEST)
    shown(story, pull.number)
    story.commit(rule=RULE + "  maxPerDomain: 2\n")
    story.merge(pull.number)
    result = apply(story.shell)
    assert result.created == 0
    (refused,) = result.refused
    assert "mssql2016 was edited between what was shown and the merge" in refused.reason
    said = [status.description for status in story.forge.list_statuses(pull.head)]
    assert any("mssql2016 was edited" in text for text in said)
    names = [item.concern for item in propose(story.shell).concerns if item.action == "opened"]
    assert "request-customapp-jump" in names


def test_a_merge_on_a_base_with_other_work_stands() -> None:
    story = Story.begin(rule=RULE)
    pull = story.open(jump=REQUEST)
    shown(story, pull.number)
    story.commit(other=REQUEST.replace("name: jump", "name: other").replace("jumpbox", "mssql-1"))
    story.merge(pull.number)
    assert apply(story.shell).states["succeeded"] == 1
    assert story.where()["jumpbox"] == "kni-worker5"
