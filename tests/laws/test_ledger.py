"""Laws of the ledger: lines read back, the chain notices changes, folds are deterministic."""

from __future__ import annotations

import string
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gitbot.execution.requests import fold_requests
from gitbot.model.ledger import Entry, Ledger, MoveState
from gitbot.model.ledger_json import append_lines, chain, decode_line, encode_entry, read_files

TEXT = st.text(max_size=12)
NAME = st.text(string.ascii_lowercase, min_size=1, max_size=6)
DATA = st.dictionaries(NAME, st.integers() | TEXT | st.lists(st.integers(), max_size=3), max_size=3)
ENTRIES = st.builds(
    Entry,
    file=st.sampled_from(["requests/prod/request/a/b.jsonl", "hold.jsonl", "pulls/1.jsonl"]),
    time=st.integers(0, 4_000_000_000),
    cluster=TEXT,
    state=TEXT,
    request=TEXT,
    vm=TEXT,
    move=st.integers(0, 9),
    attempt=st.integers(0, 3),
    reason=TEXT,
    note=TEXT,
    approvers=st.lists(NAME, max_size=2).map(tuple),
    seconds=st.integers(0, 10_000),
    data=DATA,
)
MOVES = st.builds(
    Entry,
    file=st.just("requests/prod/request/a/b.jsonl"),
    time=st.integers(0, 100),
    state=st.sampled_from([str(state) for state in MoveState if state is not MoveState.OBSERVED]),
    request=st.just("request/a/b"),
    vm=st.sampled_from(["a/x", "a/y"]),
    move=st.integers(1, 4),
    attempt=st.integers(0, 2),
)


@given(ENTRIES)
def test_decode_of_encode_is_the_entry(entry: Entry) -> None:
    assert decode_line(encode_entry(entry), file=entry.file, number=1) == entry


@given(st.lists(ENTRIES, max_size=6))
def test_files_read_back_in_order(entries: list[Entry]) -> None:
    linked = chain(None, entries)
    files: dict[str, bytes] = {}
    for entry in linked:
        files[entry.file] = append_lines(files.get(entry.file, b""), [entry])
    assert read_files(files) == linked


@given(st.lists(MOVES, max_size=12), st.integers(0, 12))
def test_a_fold_of_a_longer_ledger_agrees_on_its_beginning(entries: list[Entry], at: int) -> None:
    """Replaying is idempotent: the same lines give the same records, however they were read."""
    whole = fold_requests(Ledger(entries=tuple(entries)), "prod")
    again = fold_requests(Ledger(entries=tuple(replace(entry) for entry in entries)), "prod")
    assert whole == again
    begin = fold_requests(Ledger(entries=tuple(entries[:at])), "prod")
    for name, record in begin.items():
        assert set(record.moves) <= set(whole[name].moves)


@given(st.lists(MOVES, max_size=12))
def test_a_request_is_finished_exactly_when_all_its_moves_are(entries: list[Entry]) -> None:
    for record in fold_requests(Ledger(entries=tuple(entries)), "prod").values():
        assert record.finished == all(move.final for move in record.moves.values())
        open_states = {"approved", "held", "running"}
        assert (str(record.state) in open_states) == (not record.finished)
