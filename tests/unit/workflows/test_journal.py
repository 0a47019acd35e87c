"""The journal keeps to six pushes a minute."""

from __future__ import annotations

from gitbot.model.events import ConcernChanged, ConcernState
from gitbot.model.ledger import concern_file
from gitbot.workflows.journal import Journal
from tests.doubles.ledger import MemoryLedgerStore
from tests.unit.workflows.doubles import NOW, TestClock


def push(journal: Journal) -> None:
    file = concern_file("prod", "c")
    state = ConcernState.OBSERVED
    journal.commit((ConcernChanged(file=file, time=NOW, cluster="prod", state=state),))


def test_the_seventh_push_of_a_minute_waits_for_its_end() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    times = []
    for _ in range(8):
        push(journal)
        times.append(clock.now() - NOW)
        clock.sleep(1)
    assert times == [0, 1, 2, 3, 4, 5, 60, 61]


def test_a_turn_that_has_to_be_waited_for_is_told() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    assert not journal.wait_for_turn()
    for _ in range(6):
        push(journal)
    assert journal.wait_for_turn()
    assert clock.now() == NOW + 60
    assert not journal.wait_for_turn()
