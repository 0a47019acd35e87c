"""What a comment and checks say is what the ledger has, also where a run ended in between."""

from __future__ import annotations

import pytest

from gitbot.ports.forge import CheckState, PullRequest
from gitbot.workflows.check import refresh_pulls
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_verdicts import ANYWHERE, NOWHERE, checks, replanned


def changed(story: Story) -> PullRequest:
    """A pull request whose plan was shown, and is another one by now."""
    pull = story.open(jump=ANYWHERE)
    replanned(story, pull.number)
    return pull


def test_a_plan_is_never_that_of_a_head_which_was_pushed_while_it_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    pull = changed(story)
    look = story.port.snapshot
    pushed: list[str] = []

    def looked() -> object:
        if not pushed:
            pushed.append(story.commit("work", jump=NOWHERE))
        return look()

    monkeypatch.setattr(story.port, "snapshot", looked)
    refresh_pulls(story.shell)
    heads = {item.head for item in story.store.read().shown(pull.number, cluster=CLUSTER)}
    assert pushed[0] not in heads
    refresh_pulls(story.shell)
    assert checks(story)["gitbot/plan"].state is CheckState.FAILURE
