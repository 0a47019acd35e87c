"""Laws of the ledger: lines read back, the chain notices changes, folds are deterministic."""

import string
from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gitbot.errors import LedgerError
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.event_parts import MoveTerms, ProposalFile
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    KnownEvent,
    MoveApproved,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeFacts,
    NodeState,
    PlanShown,
    Shown,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import MigrationRequestId, OccurrenceId
from gitbot.model.text.canonical import canonical_json
from gitbot.model.text.instants import format_instant
from gitbot.published.ledger_lines import (
    KnownLines,
    append_lines,
    chain,
    decode_line,
    encode_event,
    line_value,
    read_files,
)

TEXT = st.text(max_size=12)
NAME = st.text(string.ascii_lowercase, min_size=1, max_size=6)
NUMBER = st.integers(0, 9)
TIME = st.integers(0, 4_000_000_000)
REQUEST = MigrationRequestId(namespace="a", name="b")
FILE = f"requests/prod/{REQUEST}.jsonl"
SPANS = st.lists(st.tuples(TIME, TIME), max_size=2).map(tuple)
TERMS = st.builds(MoveTerms, planned=st.just(REQUEST), allowed=SPANS, wave=NUMBER, attempts=NUMBER)
STATES = [state for state in MoveState if state not in (MoveState.OBSERVED, MoveState.APPROVED)]
MOVES = st.builds(
    MoveChanged,
    file=st.just(FILE),
    cluster=st.just("prod"),
    time=TIME,
    state=st.sampled_from(STATES),
    request=st.just(REQUEST),
    vm=st.sampled_from(["a/x", "a/y"]),
    move=st.integers(1, 4),
    attempt=st.integers(0, 2),
    reason=TEXT,
    note=TEXT,
    approvers=st.lists(NAME, max_size=2).map(tuple),
    seconds=st.integers(0, 10_000),
)
APPROVED = st.builds(
    MoveApproved,
    file=st.just(FILE),
    cluster=st.just("prod"),
    time=TIME,
    request=st.just(REQUEST),
    vm=st.sampled_from(["a/x", "a/y"]),
    move=st.integers(1, 4),
    terms=TERMS,
)
NODE_FACTS = st.builds(
    NodeFacts, node=NAME, boot_id=st.none() | TEXT, cordoned=st.none() | st.booleans()
)
EVENTS: st.SearchStrategy[KnownEvent] = st.one_of(
    MOVES,
    APPROVED,
    st.builds(
        NodeChanged,
        file=st.just("nodes/prod/w/o.jsonl"),
        time=TIME,
        cluster=st.just("prod"),
        request=st.just(OccurrenceId(window="w", id="o").drain),
        state=st.sampled_from(NodeState),
        facts=NODE_FACTS,
    ),
    st.builds(
        ConcernChanged,
        file=st.just("concerns/prod/heal.jsonl"),
        cluster=st.just("prod"),
        time=TIME,
        state=st.sampled_from(ConcernState),
        digest=TEXT,
        proposal=st.none() | st.builds(ProposalFile, file=TEXT),
    ),
    st.builds(
        PlanShown,
        file=st.just("pulls/1.jsonl"),
        pull_request=st.just(1),
        time=TIME,
        digest=TEXT,
        shown=st.builds(Shown, expires_at=TIME.map(format_instant)),
    ),
    st.builds(StopSet, file=st.just("hold.jsonl"), time=TIME, reason=TEXT),
    st.builds(StopLifted, file=st.just("hold.jsonl"), time=TIME, author=TEXT),
)


@given(EVENTS)
def test_decode_of_encode_is_the_event(event: KnownEvent) -> None:
    assert decode_line(encode_event(event), file=event.file, number=1) == event


@given(EVENTS, st.text())
def test_line_is_canonical_json(event: KnownEvent, text: str) -> None:
    """The quick encoder escapes and sorts as the one of all digests does."""
    named = msgspec.structs.replace(event, cluster=text)
    assert encode_event(named) == canonical_json(line_value(named))


@given(st.lists(EVENTS, max_size=6))
def test_files_read_back_in_order(events: list[KnownEvent]) -> None:
    linked = chain(None, events)
    assert read_files(_files(linked)) == linked


@given(st.lists(EVENTS, min_size=1, max_size=8), st.integers(0, 8), st.data())
def test_reading_only_new_lines_finds_what_reading_all_finds(
    events: list[KnownEvent], at: int, data: st.DataObject
) -> None:
    linked = chain(None, events)
    before, now = _files(linked[:at]), _files(linked)
    file = data.draw(st.sampled_from(sorted(now)))
    place = data.draw(st.integers(0, len(now[file]) - 1))
    byte = bytes([data.draw(st.integers(0, 255))])
    damaged = {**now, file: now[file][:place] + byte + now[file][place + 1 :]}
    known = KnownLines(files=before, events=linked[:at])
    assert read_files(now, known=known) == linked
    assert _outcome(damaged, known) == _outcome(damaged, None)


def _files(events: tuple[KnownEvent, ...]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for event in events:
        files[event.file] = append_lines(files.get(event.file, b""), [event])
    return files


def _outcome(files: Mapping[str, bytes], known: KnownLines | None) -> object:
    try:
        return read_files(files, known=known)
    except LedgerError:
        return None  # the first fault that is named may be another one


@given(st.lists(MOVES | APPROVED, max_size=12), st.integers(0, 12))
def test_a_fold_of_a_longer_ledger_agrees_on_its_beginning(
    events: list[KnownEvent], at: int
) -> None:
    """Replaying is idempotent: the same lines give the same records, however they were read."""
    whole = fold_requests(Ledger(events=tuple(events)), "prod")
    copies = tuple(msgspec.structs.replace(event) for event in events)
    assert whole == fold_requests(Ledger(events=copies), "prod")
    begin = fold_requests(Ledger(events=tuple(events[:at])), "prod")
    for name, record in begin.items():
        assert set(record.moves) <= set(whole[name].moves)


@given(st.lists(MOVES | APPROVED, max_size=12))
def test_a_request_is_finished_exactly_when_all_its_moves_are(events: list[KnownEvent]) -> None:
    for record in fold_requests(Ledger(events=tuple(events)), "prod").values():
        assert record.finished == all(move.final for move in record.moves.values())
        open_states = {"approved", "held", "running"}
        assert (str(record.state) in open_states) == (not record.finished)
