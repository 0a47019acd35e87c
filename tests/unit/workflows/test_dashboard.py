"""The dashboard issue: how everything stands, kept current, quiet where nothing is new."""

import pytest

from gitbot.errors import ForgeError
from gitbot.ports.forge import CheckRun, CheckState, Issue
from gitbot.workflows.apply import apply, hold, resume
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.check import publish
from gitbot.workflows.pulls import labels
from gitbot.workflows.pulls.statuses import CONTEXT
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story

LATER = f'{REQUEST}  notBefore: "2025-12-01T03:00:00Z"\n'


def issue(story: Story) -> Issue:
    (found,) = story.forge.issues
    return found


def merged(text: str) -> Story:
    story = Story.begin()
    story.open(jump=text)
    publish(story.shell, number=1)
    story.merge(1)
    return story


def test_what_waits_for_its_time_is_shown_with_the_time() -> None:
    story = merged(LATER)
    apply(story.shell, on_report=write_dashboard)
    text = issue(story).body
    assert text.startswith(f"<!-- gitbot:dashboard:{CLUSTER} -->")
    assert "### Waiting for a window\n\n- `request/customapp/jump`: 1 move, opens" in text
    assert "2025-12-01T03:00:00Z" in text
    assert story.forge.get_pull(1).labels == (labels.WAITING,)
    writes = story.writes()
    assert apply(story.shell, on_report=write_dashboard).did_nothing
    assert story.writes() == writes


def test_what_is_held_says_why_and_what_went_on_is_ended() -> None:
    story = merged(REQUEST)
    hold(story.shell, reason="the storage is <slow>", by="ann")
    apply(story.shell, on_report=write_dashboard)
    text = issue(story).body
    assert "**Stopped**: the storage is &#60;slow&#62;" in text
    assert "### Held\n\n- `request/customapp/jump`:" in text
    assert story.forge.get_pull(1).labels == (labels.HOLD,)
    resume(story.shell, reason="", by="ann")
    apply(story.shell, on_report=write_dashboard)
    text = issue(story).body
    assert "Stopped" not in text
    assert "### Ended within a week\n\n- `request/customapp/jump` succeeded" in text
    assert story.forge.get_pull(1).labels == ()


def test_a_merge_without_effect_and_an_open_proposal_are_listed() -> None:
    story = Story.begin(db=RULE)
    story.open(jump=REQUEST)
    story.merge(1)
    reconcile(story.shell)
    text = issue(story).body
    assert "### Open proposals" in text
    assert "Move customapp/jumpbox to kni-worker5" in text.replace("&#8203;", "")


def test_while_moves_run_the_status_follows() -> None:
    story = merged(REQUEST)
    seen: list[tuple[CheckState, str]] = []
    write = story.forge.set_check

    def watched(commit: str, check: CheckRun) -> bool:
        if check.name == CONTEXT:
            seen.append((check.state, check.title))
        return write(commit, check)

    story.forge.set_check = watched  # type: ignore[method-assign]
    apply(story.shell, on_report=write_dashboard)
    assert (CheckState.PENDING, "request/customapp/jump running") in seen
    assert seen[-1] == (CheckState.SUCCESS, "request/customapp/jump succeeded")


def test_a_forge_that_takes_nothing_stops_no_move(monkeypatch: pytest.MonkeyPatch) -> None:
    story = merged(REQUEST)

    def refuse(*_: object, **__: object) -> bool:
        raise ForgeError("the forge is down")

    monkeypatch.setattr(story.forge, "set_check", refuse)
    monkeypatch.setattr(story.forge, "upsert_issue", refuse)
    assert apply(story.shell, on_report=write_dashboard).states == {"succeeded": 1}
    assert any("the dashboard is not written: the forge is down" in line for line in story.lines)
    monkeypatch.undo()
    apply(story.shell, on_report=write_dashboard)
    assert "succeeded" in issue(story).body


def test_before_anything_happened_there_is_no_dashboard() -> None:
    story = Story.begin()
    apply(story.shell, on_report=write_dashboard)
    assert story.forge.issues == []
