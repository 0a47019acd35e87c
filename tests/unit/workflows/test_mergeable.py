"""A proposal can be merged, and is opened once, whatever else is merged or listed."""

import pytest

from gitbot.workflows.apply import apply
from gitbot.workflows.propose import propose
from tests.doubles.intents import RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_propose import HEAL, actions, migration_of


def healed(story: Story) -> None:
    """A rule is healed, and the file of its proposal lies on the base branch."""
    propose(story.shell)
    story.merge()
    apply(story.shell)
    propose(story.shell)


def broken(story: Story) -> None:
    (moved,) = [name for name, node in story.where().items() if node == "kni-worker2"]
    story.cluster.apply([migration_of(moved, "kni-worker6")])
    story.cluster.settle()


def test_a_file_that_an_open_proposal_writes_again_is_not_tidied_away() -> None:
    story = Story.begin(db=RULE)
    healed(story)
    broken(story)
    story.port.sleep(8 * 86_400)
    assert actions(propose(story.shell)) == {HEAL: "opened"}
    story.merge()
    assert apply(story.shell).states["succeeded"]


def test_a_proposal_whose_old_file_was_tidied_away_is_opened_again() -> None:
    story = Story.begin(db=RULE)
    healed(story)
    story.port.sleep(8 * 86_400)
    assert actions(propose(story.shell)) == {"tidy": "opened"}
    (tidy,) = story.pulls()
    broken(story)
    assert actions(propose(story.shell)) == {HEAL: "opened"}
    story.merge(tidy.number)
    assert actions(propose(story.shell)) == {HEAL: "opened"}
    assert propose(story.shell).did_nothing
    story.merge()
    assert apply(story.shell).states["succeeded"]


def test_a_proposal_that_cannot_be_merged_is_left_to_who_pushed_to_it() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    story.commit(pull.branch, **{"docs/x.md": "theirs"})
    story.commit(**{"docs/x.md": "ours"})
    report = propose(story.shell).concerns[0]
    assert (report.action, report.pull_request) == ("unchanged", pull.number)
    assert "conflicts with main, but somebody pushed" in report.reason


def test_a_proposal_that_the_forge_does_not_list_for_a_moment_is_not_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "list_pulls", lambda **_: ())
        assert actions(propose(story.shell)) == {HEAL: "unchanged"}
    assert story.pulls() == (pull,)


@pytest.mark.parametrize("required", [0, 1])
def test_a_proposal_that_is_merged_right_after_the_base_was_read_is_not_opened_again(
    required: int,
) -> None:
    story = Story.begin(db=RULE, reviews_required=required)
    propose(story.shell)
    (pull,) = story.pulls()
    before = story.repository.commit("main").id
    if required:
        story.forge.approve_pull(pull.number, reviewer="eve")
    merge = story.merge().merge_commit
    story.repository.branches["main"] = before  # as it was fetched
    assert actions(propose(story.shell)) == {HEAL: "waiting"}
    assert story.pulls() == ()
    story.repository.branches["main"] = merge
    assert actions(propose(story.shell)) == {}
    assert apply(story.shell).states["succeeded"]
