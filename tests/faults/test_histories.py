"""Histories of Git and forge that a careless bot would act on: nobody approved them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gitbot.constraints.replay import replay
from gitbot.workflows.apply import apply
from gitbot.workflows.propose import propose
from gitbot.workflows.publish import publish
from tests.unit.workflows.story import CLUSTER, REQUEST, RULE, Story

Edit = Callable[[Story, str], str]


def show(story: Story, number: int) -> str:
    """`gitbot check --pull-request N --publish`; the digest that it showed."""
    return publish(story.shell, number=number, replay=replay).digest


def later_expiry(_: Story, text: str) -> str:
    return re.sub(r"expiresAt: \S+", 'expiresAt: "2030-01-01T00:00:00Z"', text)


def another_digest(story: Story, text: str) -> str:
    """That of a plan which gitbot showed for something else."""
    shown = show(story, story.open(jump=REQUEST).number)
    return re.sub(r"digest: \S+", f"digest: {shown}", text)


def another_target(_: Story, text: str) -> str:
    """The digest stays, so that a reviewer reads other moves than would run."""
    return text.replace("kni-worker2", "kni-worker3")


@pytest.mark.parametrize("edit", [later_expiry, another_digest, another_target])
def test_a_proposal_file_that_a_person_edited_approves_nothing(edit: Edit) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    path = f"intents/{CLUSTER}/gitbot/{pull.branch.rpartition('/')[2]}.yaml"
    text = (story.repository.read_blob(pull.head, path) or b"").decode()
    edited = edit(story, text)
    assert edited != text
    story.commit(pull.branch, **{path: edited})
    assert propose(story.shell).concerns[0].action == "unchanged"
    story.merge(pull.number)
    result = apply(story.shell)
    assert result.created == 0
    reason = "nothing is approved: the proposal file is not as gitbot wrote it"
    assert [item.reason for item in result.approvals.refused] == [reason]


def test_a_proposal_file_in_a_persons_pull_request_approves_nothing() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    path = f"intents/{CLUSTER}/gitbot/{pull.branch.rpartition('/')[2]}.yaml"
    text = (story.repository.read_blob(pull.head, path) or b"").decode()
    for branch in ("mine", f"gitbot/pull/{CLUSTER}/rest-000000000000"):
        copied = story.open(branch, **{path: text})
        show(story, copied.number)
        story.merge(copied.number)
    assert apply(story.shell).created == 0
