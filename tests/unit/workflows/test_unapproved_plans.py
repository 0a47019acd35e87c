"""Plans that nobody approved leave the ledger, and have a budget while they are in it."""

import pytest

from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    Judged,
    LedgerEvent,
    MergeJudged,
    MergeState,
    PlanShown,
    Shown,
)
from gitbot.model.ledger.ledger import Ledger, concern_file, pull_file
from gitbot.model.text.instants import format_instant
from gitbot.workflows.apply import apply
from gitbot.workflows.ask.doctor import repository_checks
from gitbot.workflows.check import publish
from gitbot.workflows.ledger import kept_plans
from gitbot.workflows.ledger.kept_plans import KEPT, unneeded_plans
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.tiny_cluster import TestClock
from tests.unit.workflows.story import Story

HOUR = 3600


def shown(digest: str, *, pull: int = 1, time: int = 0) -> PlanShown:
    """A plan shown for an hour."""
    said = Shown(head="h", base="b", expires_at=format_instant(time + HOUR))
    return PlanShown(
        file=pull_file(pull), time=time, cluster="c", pull_request=pull, digest=digest, shown=said
    )


def concern(state: ConcernState, digest: str = "", *, time: int = 0) -> ConcernChanged:
    return ConcernChanged(
        file=concern_file("c", "heal"), time=time, cluster="c", state=state, digest=digest
    )


def merge(state: MergeState, digest: str) -> MergeJudged:
    return MergeJudged(
        file=pull_file(1),
        time=0,
        cluster="c",
        state=state,
        pull_request=1,
        digest=digest,
        judged=Judged(head="h"),
    )


def ledger(*events: LedgerEvent) -> Ledger:
    """A ledger with these lines and each of their plans."""
    digests = {str(getattr(event, "digest", "")) for event in events} - {""}
    return Ledger(events=events, plans=dict.fromkeys(digests, b"{}"))


@pytest.mark.parametrize(
    ("events", "now", "gone"),
    [
        pytest.param([shown("a")], HOUR + KEPT, "", id="not long after its expiry"),
        pytest.param([shown("a")], HOUR + KEPT + 1, "a", id="long after its expiry"),
        pytest.param(
            [shown("a"), shown("a", time=KEPT)], HOUR + KEPT + 1, "", id="shown again later"
        ),
        pytest.param([shown(name) for name in "abcde"], 0, "a", id="five pushes of one head"),
        pytest.param([shown(name) for name in "abcdea"], 0, "b", id="a push back to the first"),
        pytest.param(
            [shown(name, pull=number) for number, name in enumerate("abcde")],
            0,
            "",
            id="five pulls",
        ),
        pytest.param(
            [*(shown(name) for name in "abcde"), shown("a", pull=2)],
            0,
            "",
            id="shown elsewhere too",
        ),
        pytest.param(
            [concern(ConcernState.AUTO, "a")], KEPT + 1, "", id="approved by gitbot itself"
        ),
        pytest.param(
            [shown("a"), merge(MergeState.COUNTED, "a")], HOUR + KEPT + 1, "", id="a merge counts"
        ),
        pytest.param(
            [shown("a"), merge(MergeState.REFUSED, "a")],
            HOUR + KEPT + 1,
            "a",
            id="a merge does not",
        ),
        pytest.param(
            [concern(ConcernState.PROPOSED, "a"), concern(ConcernState.OPENED, "a")],
            KEPT + 1,
            "",
            id="an open proposal",
        ),
        pytest.param(
            [concern(ConcernState.OPENED, "a"), concern(ConcernState.OBSERVED)],
            KEPT + 1,
            "",
            id="an open proposal whose concern was seen again",
        ),
        pytest.param(
            [concern(ConcernState.OPENED, "a"), concern(ConcernState.CLOSED, "a", time=1)],
            KEPT + 2,
            "a",
            id="a proposal that was closed long ago",
        ),
        pytest.param(
            [concern(ConcernState.OPENED, "a"), concern(ConcernState.MERGED, "a", time=1)],
            KEPT + 1,
            "",
            id="a merge that waits for its approval",
        ),
    ],
)
def test_a_plan_goes_when_no_merge_can_approve_it_any_more(
    events: list[LedgerEvent], now: int, gone: str
) -> None:
    assert unneeded_plans(ledger(*events), now) == frozenset(gone)


def test_the_next_plan_makes_room_and_approved_plans_stay() -> None:
    story = Story.begin()
    first = story.open("one", one=REQUEST.replace("name: jump,", "name: one,"))
    approved = publish(story.shell, number=first.number).digest
    story.merge(first.number)
    apply(story.shell)
    texts = [REQUEST.replace("5", number) for number in "3425"]
    second = story.open("two", two=texts[0])
    expired = publish(story.shell, number=second.number).digest
    assert story.store.read().plans.keys() == {approved, expired}
    story.port.sleep(400 * 86_400)
    third = story.open("three", three=texts[1].replace("name: jump,", "name: three,"))
    newest = publish(story.shell, number=third.number).digest
    assert story.store.read().plans.keys() == {approved, newest} - {""}


def test_plan_that_a_commit_shows_again_stays() -> None:
    """Its first record has expired long ago; another plan makes the commit drop such plans."""
    store, clock = MemoryLedgerStore(), TestClock()
    first = Journal(store, clock)
    first.commit((shown("a", time=clock.now()),), {"a": b"{}"})
    clock.sleep(2 * KEPT)
    journal = Journal(store, clock)
    journal.read()
    again = (shown("a", time=clock.now()), shown("b", pull=2, time=clock.now()))
    journal.commit(again, {"a": b"{}", "b": b"{}"})
    assert store.read().plans.keys() == {"a", "b"}


def test_a_full_ledger_stops_proposals_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=RULE)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    monkeypatch.setattr(kept_plans, "UNAPPROVED_BYTES", 10)
    checks = repository_checks(story.shell, rehearse=lambda: None)
    (size,) = [item for item in checks if item.name == "ledger/size"]
    assert "no new plan" in size.message
    other = story.open("other", other=REQUEST.replace("name: jump,", "name: other,"))
    refused = publish(story.shell, number=other.number)
    assert [item.code for item in refused.check.findings if item.code.startswith("ledger/")] == [
        "ledger/full"
    ]
    assert story.store.read().shown(other.number, cluster="iberia")[-1].digest == ""
    reports = propose(story.shell).concerns
    assert [item.reason for item in reports if "nobody approved" in item.reason]
    story.merge(pull.number)  # what was shown before is approved, and moves
    assert apply(story.shell).states == {"succeeded": 1}
