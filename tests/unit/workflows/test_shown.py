"""What a comment and checks say is what the ledger has, also where a run ended in between."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gitbot.errors import ForgeError
from gitbot.ports.forge import CheckState, PullRequest
from gitbot.workflows.approval.stale_reviews import CHANGED
from gitbot.workflows.check import publish, refresh_pulls
from tests.doubles.intents import REQUEST
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_verdicts import (
    ANYWHERE,
    EDITED,
    NOWHERE,
    body,
    checks,
    landed,
    replanned,
)


@contextmanager
def silent(story: Story) -> Iterator[None]:
    """The forge takes no comments, as at its limit of writes."""

    def die(*_: object, **__: object) -> None:
        raise ForgeError("no requests are left")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(story.forge, "upsert_comment", die)
        with pytest.raises(ForgeError):
            yield
    story.cluster.advance(60)


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


def test_an_approval_of_a_comment_s_plan_is_none_of_a_plan_that_no_comment_says() -> None:
    story = Story.begin(reviews_required=1)
    pull = changed(story)
    before = body(story)
    for _ in range(2):
        with silent(story):
            refresh_pulls(story.shell)
    assert body(story) == before
    story.forge.approve_pull(pull.number, reviewer="eve")
    home, refused = landed(story, pull.number)
    assert (home, len(refused)) == ("kni-worker", 1)


def test_a_push_is_approved_only_after_its_plan_could_be_read() -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.commit("work", jump=EDITED)
    with silent(story):
        refresh_pulls(story.shell)
    assert "kni-worker5" in body(story)
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.cluster.advance(60)
    refresh_pulls(story.shell)
    assert CHANGED in body(story)
    home, refused = landed(story, pull.number)
    assert (home, len(refused)) == ("kni-worker", 1)


def test_a_check_says_no_success_any_more_where_nothing_can_be_planned() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.commit(jump=EDITED)  # which conflicts with it
    with silent(story):
        refresh_pulls(story.shell)
    assert not story.store.read().shown(pull.number, cluster=CLUSTER)[-1].digest
    refresh_pulls(story.shell)
    assert checks(story)["gitbot/plan"].state is CheckState.FAILURE
    assert "nothing was planned" in body(story)
    assert refresh_pulls(story.shell) == ()
