"""Records keep to six pushes a minute, claims and ends do not wait; lost races are repeated."""

import pytest

from gitbot.errors import ConflictError
from gitbot.model.ledger.events import (
    FINAL_STATES,
    ConcernChanged,
    ConcernState,
    KnownEvent,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeFacts,
    NodeState,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import HOLD_FILE, concern_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.workflows.ledger.writer import Journal, is_record, retried
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.tiny_cluster import NOW, TestClock


def push(journal: Journal) -> None:
    file = concern_file("prod", "c")
    state = ConcernState.OBSERVED
    journal.commit((ConcernChanged(file=file, time=NOW, cluster="prod", state=state),))


def test_the_seventh_record_of_a_minute_waits_for_its_end() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    times = []
    for _ in range(8):
        push(journal)
        times.append(clock.now() - NOW)
        clock.sleep(1)
    assert times == [0, 1, 2, 3, 4, 5, 60, 61]


def test_a_turn_that_has_to_be_waited_for_is_known() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    for _ in range(6):
        assert journal.has_turn()
        push(journal)
    assert not journal.has_turn()
    clock.sleep(59)
    assert not journal.has_turn()
    clock.sleep(1)
    assert journal.has_turn()


STOP = StopSet(file=HOLD_FILE, time=NOW)
RESUMED = StopLifted(file=HOLD_FILE, time=NOW)
NODE = NodeChanged(
    file="nodes/prod/fw/o1.jsonl",
    time=NOW,
    cluster="prod",
    state=NodeState.READY,
    request=OccurrenceId(window="fw", id="o1").drain,
    facts=NodeFacts(node="a"),
)


@pytest.mark.parametrize("state", [MoveState.INTENDED, *sorted(FINAL_STATES)])
def test_a_claim_or_an_end_does_not_wait(state: MoveState) -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    for _ in range(6):
        push(journal)
    sent = (MoveState.INTENDED,) if state in (MoveState.SUCCEEDED, MoveState.FAILED) else ()
    journal.commit(tuple(map(change, (MoveState.APPROVED, *sent, state))))
    assert clock.now() == NOW
    assert not journal.has_turn()


@pytest.mark.parametrize("event", [NODE, STOP, RESUMED])
def test_a_node_a_stop_and_its_end_do_not_wait(event: KnownEvent) -> None:
    assert not is_record(event)


def test_nothing_to_write_is_no_push() -> None:
    clock = TestClock()
    journal = Journal(MemoryLedgerStore(), clock)
    for _ in range(6):
        journal.commit(())
    assert journal.has_turn()


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
