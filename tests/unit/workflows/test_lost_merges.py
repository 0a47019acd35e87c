"""A merge that Git no longer has says nothing about what it approved."""

from dataclasses import replace

import pytest

from gitbot.workflows.apply import apply
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.propose import propose
from tests.doubles.intents import RULE
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.unit.workflows.story import Story


@pytest.mark.parametrize("kept", [True, False])
def test_what_began_pauses_where_its_merge_was_rewritten_away(kept: bool) -> None:
    story = Story.begin(db=RULE)
    before = story.repository.commit("main").id
    propose(story.shell)
    merge = story.merge().merge_commit
    apply(story.shell, max_runtime=7)
    story.repository.branches["main"] = before
    if not kept:  # as in a new clone
        del story.repository._commits[merge], story.repository._trees[merge]
    shell = story.shell
    found = read_approvals(shell, shell.read_base(before), story.store.read())
    (item,) = found.approved
    assert item.terms.paused
    assert not item.terms.void


def test_a_merge_that_is_not_fetched_yet_is_not_said_to_approve_nothing() -> None:
    story = Story.begin(db=RULE)
    before = story.repository.commit("main").id
    propose(story.shell)
    merged = story.merge()
    story.repository.branches["main"] = before
    commit = story.repository._commits.pop(merged.merge_commit)
    tree = story.repository._trees.pop(merged.merge_commit)
    apply(story.shell)
    assert "gitbot/apply" not in {
        item.context for item in story.forge.list_statuses(merged.merged_head)
    }
    story.repository._commits[merged.merge_commit] = commit
    story.repository._trees[merged.merge_commit] = tree
    story.repository.branches["main"] = merged.merge_commit
    assert apply(story.shell).states["succeeded"]


@pytest.mark.parametrize("begun", [True, False])
def test_a_merge_whose_commit_the_forge_does_not_name_pauses_its_own_request_alone(
    begun: bool,
) -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.approve(a_plan(a_move("two", "a", "c", request="request/db/two")), branch="two")
    if begun:
        apply(stage.shell, max_runtime=7)
    stage.forge._pulls[1] = replace(stage.forge._pulls[1], merge_commit="")
    apply(stage.shell)
    assert stage.cluster.where() == {"one": "c" if begun else "a", "two": "c"}
    assert "1 withdrawn" not in stage.states()
