"""Which commits the base branch must still hold: the newest shown base, the newest merge."""

import pytest

from gitbot.model.ledger.event_parts import MoveTerms
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    KnownEvent,
    MoveApproved,
    PlanShown,
    Shown,
    StopLifted,
)
from gitbot.model.ledger.ledger import Ledger, concern_file, pull_file, request_file
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.approval.base_history import seen_commits
from tests.doubles.tiny_cluster import NOW

REQUEST = RequestId.read("request/db/one")
TERMS = MoveTerms(
    group=REQUEST, wave=0, attempts=1, intent="", planned=REQUEST, allowed=(), finish=False
)


def shown(base: str) -> PlanShown:
    told = Shown(head="head", base=base, expires_at="2026-01-01T00:00:00Z")
    return PlanShown(
        file=pull_file(1), time=NOW, cluster="prod", pull_request=1, digest="d", shown=told
    )


def merged(commit: str) -> MoveApproved:
    return MoveApproved(
        file=request_file("prod", REQUEST),
        time=NOW,
        cluster="prod",
        request=REQUEST,
        vm="db/one",
        move=1,
        commit=commit,
        terms=TERMS,
    )


def concern(state: ConcernState, commit: str) -> ConcernChanged:
    file = concern_file("prod", "c")
    return ConcernChanged(file=file, time=NOW, cluster="prod", state=state, commit=commit)


def resumed(cluster: str) -> StopLifted:
    return StopLifted(file="hold.jsonl", time=NOW, cluster=cluster)


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ((), ()),
        ((shown("a"),), ("a",)),
        ((merged("a"),), ("a",)),
        ((shown("a"), merged("b")), ("a", "b")),
        ((merged("b"), shown("a")), ("a", "b")),
        ((shown("a"), merged("b"), shown("c"), merged("d")), ("c", "d")),
        ((merged("b"), shown("a"), shown("c")), ("c", "b")),
        ((shown("a"), merged("a")), ("a",)),
        ((concern(ConcernState.AUTO, "a"), concern(ConcernState.PROPOSED, "b")), ("a",)),
        ((shown("a"), merged("b"), resumed("prod"), shown("c")), ("c",)),
        ((shown("a"), merged("b"), resumed("")), ()),
        ((shown("a"), merged("b"), resumed("other")), ("a", "b")),
    ],
)
def test_the_newest_of_each_since_a_person_resumed(
    events: tuple[KnownEvent, ...], seen: tuple[str, ...]
) -> None:
    assert seen_commits(Ledger(events=events), "prod") == seen
