"""Which merges are asked about: none that is older than the first of which the ledger knows."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.model.events import ConcernChanged, ConcernState, LedgerEvent, PlanShown, Shown
from gitbot.model.ledger import Ledger, concern_file, pull_file
from gitbot.workflows.apply import apply
from gitbot.workflows.approvals import first_pull
from gitbot.workflows.check import publish
from tests.unit.workflows.story import REQUEST, Story


def shown(number: int, cluster: str = "prod") -> PlanShown:
    stands = Shown(head="h", base="b", expires_at="2026-10-01T00:00:00Z")
    return PlanShown(
        file=pull_file(number), time=1, cluster=cluster, pull_request=number, shown=stands
    )


def concern(state: ConcernState, name: str, number: int = 0) -> ConcernChanged:
    file = concern_file("prod", name)
    return ConcernChanged(file=file, time=1, cluster="prod", state=state, pull_request=number)


DRAIN, HEAL = "drain-w-1", "heal-x"


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ((), 1),
        ((shown(812), shown(815)), 812),
        ((shown(3, "other"), shown(9)), 9),
        (
            (
                concern(ConcernState.OBSERVED, DRAIN),
                concern(ConcernState.PROPOSED, DRAIN),
                concern(ConcernState.OPENED, DRAIN, 700),
            ),
            700,
        ),
        # opened, but the run ended before its number was written down
        ((concern(ConcernState.PROPOSED, DRAIN), shown(812)), 1),
        (
            (
                concern(ConcernState.PROPOSED, DRAIN),
                concern(ConcernState.OPENED, DRAIN, 700),
                concern(ConcernState.PROPOSED, HEAL),
            ),
            1,
        ),
    ],
)
def test_the_first_that_may_approve_something(events: tuple[LedgerEvent, ...], first: int) -> None:
    assert first_pull(Ledger(events=events), "prod") == first


def test_a_pass_does_not_list_what_was_merged_before_gitbot_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    for number in range(3):
        old = story.open(f"old{number}", **{f"docs/{number}.md": "old\n"})
        story.merge(old.number)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
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
