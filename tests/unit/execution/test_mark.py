"""Marks stand on nodes and migrations that an earlier version wrote: they never change."""

from gitbot.execution.cluster_facts import ledger_mark
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.ledger import Ledger, concern_file


def test_a_ledger_is_known_by_its_first_line() -> None:
    first, second = (
        ConcernChanged(
            file=concern_file("prod", "c"), time=time, cluster="prod", state=ConcernState.OBSERVED
        )
        for time in (1_800_000_000, 1_800_000_060)
    )
    mark = ledger_mark(Ledger(events=(first,)))
    assert mark == "c87b86872a"
    assert ledger_mark(Ledger(events=(first, second))) == mark
    assert ledger_mark(Ledger(events=(second,))) != mark
    assert ledger_mark(Ledger()) == ""
