"""What counted at a merge is recorded then: later rules and rights approve nothing."""

from gitbot.model.ledger.events import MergeJudged, MergeState
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST
from tests.unit.workflows.story import Story

MONTH = 30 * 24 * 3600
OWNERS = """  owners:
  - {paths: [intents/iberia], namespaces: ['*'], nodes: {names: ['*']}, teams: ['@acme/ops']}
"""


def merged(story: Story, *, reviewer: str = "") -> int:
    """A pull request that was shown, approved by `reviewer`, and merged past the rules."""
    story.forge.enforced = False
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.port.sleep(2)
    if reviewer:
        story.forge.approve_pull(pull.number, reviewer=reviewer)
        story.port.sleep(2)
    story.merge(pull.number)
    return pull.number


def judged(story: Story) -> list[MergeJudged]:
    return [event for event in story.store.read().events if isinstance(event, MergeJudged)]


def test_a_merge_past_the_rules_stays_refused_when_the_rules_are_off() -> None:
    story = Story.begin(reviews_required=1)
    number = merged(story)
    assert apply(story.shell).created == 0
    assert judged(story) == []  # the forge may not list every review yet
    story.port.sleep(120)
    assert apply(story.shell).created == 0
    (line,) = judged(story)
    assert (line.state, line.pull_request, line.judged.required) == (MergeState.REFUSED, number, 1)
    story.port.sleep(MONTH)
    story.forge.require_reviews(0)
    result = apply(story.shell)
    assert result.created == 0
    assert "1 approvals of the merged head" in result.refused[0].reason
    assert story.where()["jumpbox"] != "kni-worker5"


def test_another_pull_request_approves_it_anew() -> None:
    story = Story.begin(reviews_required=1)
    merged(story)
    story.port.sleep(120)
    apply(story.shell)
    propose(story.shell)
    (pull,) = story.pulls()
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.port.sleep(2)
    story.merge(pull.number)
    apply(story.shell)
    assert story.where()["jumpbox"] == "kni-worker5"


def test_a_reviewer_who_gets_rights_later_approves_nothing() -> None:
    story = Story.begin(reviews_required=1)
    story.forge.readers.add("eve")
    merged(story, reviewer="eve")
    story.port.sleep(120)
    apply(story.shell)
    story.forge.readers.clear()
    assert apply(story.shell).created == 0


def test_a_reviewer_who_loses_rights_only_pauses() -> None:
    """Before the owners have approved, and the plan with them: that is no refusal."""
    story = Story.begin(reviews_required=1, settings=OWNERS)
    story.forge.teams["@acme/ops"] = frozenset({"olga"})
    number = merged(story, reviewer="eve")
    story.port.sleep(120)
    assert apply(story.shell).created == 0
    (line,) = judged(story)
    assert (line.state, line.approvers) == (MergeState.COUNTED, ("eve",))
    story.forge.readers.add("eve")
    story.forge.approve_pull(number, reviewer="olga")
    assert apply(story.shell).created == 0
    story.forge.readers.clear()
    apply(story.shell)
    assert story.where()["jumpbox"] == "kni-worker5"
    assert len(judged(story)) == 1


def test_a_plan_in_the_ledger_needs_no_second_line() -> None:
    story = Story.begin(reviews_required=1)
    merged(story, reviewer="eve")
    apply(story.shell)
    assert judged(story) == []
    assert story.states("request/customapp/jump")[0] == "1 approved"
