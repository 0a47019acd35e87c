"""The journal keeps to six pushes a minute, and writes again what lost a race."""

import pytest

from gitbot.errors import ConflictError
from gitbot.model.ledger.events import ConcernChanged, ConcernState, MoveChanged, MoveState
from gitbot.model.ledger.ledger import concern_file
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.ledger.writer import Journal, retried
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.tiny_cluster import NOW, TestClock


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


def test_nothing_to_write_is_no_push() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    for _ in range(6):
        journal.commit(())
    assert not journal.wait_for_turn()


def test_without_outcomes_to_write_the_ledger_itself_is_seen() -> None:
    """What is computed from a ledger is kept with it."""
    journal = Journal(MemoryLedgerStore(), TestClock())
    push(journal)
    assert journal.seen is journal.ledger


@pytest.mark.parametrize(("lost", "writes"), [(8, True), (9, False)])
def test_who_lost_eight_races_tries_once_more(lost: int, writes: bool) -> None:
    tries: list[int] = []

    def write() -> str:
        tries.append(len(tries))
        if len(tries) <= lost:
            raise ConflictError("somebody else was first")
        return "written"

    if writes:
        assert retried(write) == "written"
    else:
        with pytest.raises(ConflictError):
            retried(write)
    assert len(tries) == 9


def change(state: MoveState, *, request: str = "request/db/one") -> MoveChanged:
    return MoveChanged(
        file=f"requests/prod/{request}.jsonl",
        time=NOW,
        cluster="prod",
        request=RequestId.read(request),
        vm="db/one",
        move=1,
        attempt=1,
        state=state,
        migration="db/gitbot-one",
    )


@pytest.mark.parametrize(
    ("outcome", "stays"),
    [
        (change(MoveState.CREATED), True),
        (change(MoveState.FAILED), False),
        (change(MoveState.CREATED, request="request/db/unknown"), False),
    ],
)
def test_when_somebody_else_wrote_only_creations_that_are_news_stay_to_be_written(
    outcome: MoveChanged, stays: bool
) -> None:
    store = MemoryLedgerStore()
    journal = Journal(store, TestClock())
    journal.commit((change(MoveState.APPROVED), change(MoveState.INTENDED)))
    journal.note(outcome)
    other = Journal(store, TestClock())
    other.read()
    push(other)
    journal.read()
    assert journal.unwritten == ((outcome,) if stays else ())
