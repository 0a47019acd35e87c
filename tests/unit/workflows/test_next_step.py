"""What an open pull request needs before its merge is worth anything."""

from dataclasses import replace

from gitbot.errors import LimitExceeded
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision import Revision, Texts, read_change
from gitbot.workflows.pulls.next_step import check_first
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.unit.workflows.story import Story

FREEZE = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: quarter}}\nspec: {{}}\n"
CHECK = "gitbot check --pull-request 1 --publish"


def needs(story: Story, shell: RunContext | None = None) -> str:
    (pull,) = story.pulls()
    return check_first(
        shell or story.shell, story.shell.ledger_store.read(), pull, now=story.port.now()
    )


def asked(**files: str) -> str:
    story = Story.begin(rule=RULE)
    story.open(**files)
    return needs(story)


def test_only_what_can_move_a_vm_or_break_something_is_checked_first() -> None:
    assert asked(freeze=FREEZE) == ""
    assert asked(freeze=FREEZE.replace("spec: {}", "spec: {nope: 1}")) == CHECK
    assert asked(jump=REQUEST) == CHECK


def test_requests_that_others_merged_meanwhile_are_not_of_the_pull_request() -> None:
    story = Story.begin(rule=RULE)
    story.open(freeze=FREEZE)
    story.commit(jump=REQUEST)
    assert needs(story) == ""


def test_a_head_that_nobody_reviewed_is_read_by_the_process_with_limits() -> None:
    story = Story.begin(rule=RULE)
    story.open(freeze=FREEZE)
    read: list[str] = []

    def apart(texts: Texts, base: Revision) -> Revision:
        read.append(texts.commit)
        return read_change(texts, base)

    def bomb(texts: Texts, base: Revision) -> Revision:
        raise LimitExceeded(f"too much memory for {texts.commit} on {base.cluster}")

    assert needs(story, replace(story.shell, reading=apart)) == ""
    assert read == [story.pulls()[0].head]
    assert needs(story, replace(story.shell, reading=bomb)) == CHECK
