"""NodeValidation: a canary moves to the node, and home again."""

import pytest

from gitbot.workflows.check import publish
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST
from tests.unit.workflows.story import Story


def test_the_canary_of_a_node_validation_is_brought_home() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST.replace("Maintenance", "NodeValidation"))
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    reconcile(story.shell)
    assert story.where()["jumpbox"] == "kni-worker5"
    story.port.sleep(60)  # the pod that it left has ended
    reconcile(story.shell)
    (pull,) = story.pulls()
    assert "Bring the canaries of request/customapp/jump home" in pull.body
    story.merge()
    reconcile(story.shell)
    assert story.where()["jumpbox"] == "kni-worker"
    before = story.writes()
    assert reconcile(story.shell).did_nothing
    assert story.writes() == before
    assert story.pulls() == ()


@pytest.mark.parametrize("reason", ["Maintenance", "Troubleshooting"])
def test_other_moves_stay_where_they_went(reason: str) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST.replace("Maintenance", reason))
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    reconcile(story.shell)
    assert story.where()["jumpbox"] == "kni-worker5"
    reconcile(story.shell)
    assert story.pulls() == ()
