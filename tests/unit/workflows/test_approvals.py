"""Which merges are asked about: none that is older than the first of which the ledger knows."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.constraints.replay import replay
from gitbot.model.ledger import Entry, Ledger
from gitbot.workflows.apply import apply
from gitbot.workflows.approvals import first_pull
from gitbot.workflows.publish import publish
from tests.unit.workflows.story import REQUEST, Story


def line(state: str, file: str, number: int = 0, cluster: str = "prod") -> Entry:
    return Entry(file=file, time=1, cluster=cluster, state=state, pull_request=number)


DRAIN, HEAL = "concerns/prod/drain-w-1.jsonl", "concerns/prod/heal-x.jsonl"


@pytest.mark.parametrize(
    ("entries", "first"),
    [
        ((), 1),
        ((line("shown", "pulls/812.jsonl", 812), line("shown", "pulls/815.jsonl", 815)), 812),
        ((line("shown", "pulls/3.jsonl", 3, "other"), line("shown", "pulls/9.jsonl", 9)), 9),
        ((line("observed", DRAIN), line("proposed", DRAIN), line("opened", DRAIN, 700)), 700),
        # opened, but the run ended before its number was written down
        ((line("proposed", DRAIN), line("shown", "pulls/812.jsonl", 812)), 1),
        ((line("proposed", DRAIN), line("opened", DRAIN, 700), line("proposed", HEAL)), 1),
    ],
)
def test_the_first_that_may_approve_something(entries: tuple[Entry, ...], first: int) -> None:
    assert first_pull(Ledger(entries=entries), "prod") == first


def test_a_pass_does_not_list_what_was_merged_before_gitbot_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    for number in range(3):
        old = story.open(f"old{number}", **{f"docs/{number}.md": "old\n"})
        story.merge(old.number)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number, replay=replay)
    story.merge(pull.number)
    asked: list[int] = []
    listed = story.forge.list_pulls

    def noted(**what: Any) -> Any:
        found = listed(**what)
        asked.extend(item.number for item in found)
        return found

    monkeypatch.setattr(story.forge, "list_pulls", noted)
    assert apply(story.shell).states == {"succeeded": 1}
    assert set(asked) == {pull.number}
