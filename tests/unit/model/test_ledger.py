"""Questions to the ledger: each kind of line, by cluster, file or folder."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.model.ledger.events import (
    Judged,
    LedgerEvent,
    MergeJudged,
    MergeState,
    PlanShown,
    Shown,
)
from gitbot.model.ledger.ledger import Ledger, pull_file


class _CountedEvents(tuple[LedgerEvent, ...]):
    """Counts how often it is read from its begin."""

    __slots__ = ()
    scans = 0

    def __iter__(self) -> Iterator[LedgerEvent]:
        type(self).scans += 1
        return super().__iter__()


def _lines(number: int, cluster: str = "prod") -> tuple[PlanShown, MergeJudged]:
    file = pull_file(number)
    shown = Shown(head="h", base="b", expires_at="2027-01-01T00:00:00Z")
    return (
        PlanShown(file=file, time=1, cluster=cluster, pull_request=number, shown=shown),
        MergeJudged(
            file=file,
            time=2,
            cluster=cluster,
            state=MergeState.COUNTED,
            pull_request=number,
            judged=Judged(head="h"),
        ),
    )


def test_lines_of_every_pull_request_cost_one_scan() -> None:
    events = _CountedEvents(line for number in range(1, 40) for line in _lines(number))
    ledger = Ledger(events=events)
    for number in range(1, 40):
        (shown,), judged = (
            ledger.shown(number, cluster="prod"),
            ledger.judged(number, cluster="prod"),
        )
        assert judged is not None
        assert (shown.pull_request, judged.pull_request) == (number, number)
    assert _CountedEvents.scans == 1
    assert ledger.shown(40, cluster="prod") == ()


def test_pull_request_of_two_clusters_has_lines_of_each() -> None:
    """The name of pull request 1 begins as that of 11 does."""
    ledger = Ledger(events=(*_lines(11), *_lines(1, "lab"), *_lines(1)))
    assert [event.cluster for event in ledger.shown(1, cluster="lab")] == ["lab"]
    assert len(ledger.of(pull_file(1))) == 4
    assert len(ledger.of("pulls/")) == 6
    assert ledger.judged(11, cluster="lab") is None
