"""The ledger's lines read back as they were written, and no change of them goes unnoticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitbot.errors import LedgerError
from gitbot.model.ledger import Entry
from gitbot.model.ledger_json import (
    append_lines,
    chain,
    decode_line,
    encode_entry,
    read_files,
    verify,
)

FULL = Entry(
    file="requests/prod/request/db/one.jsonl",
    time=1_765_000_000,
    cluster="prod",
    state="created",
    seq=1,
    request="request/db/one",
    vm="db/one",
    vm_uid="u-1",
    move=3,
    attempt=1,
    source="a",
    to="b",
    landed="b",
    reason="Maintenance",
    note="räck 7",
    author="ann",
    approvers=("bob", "eve"),
    merger="bob",
    pull_request=7,
    commit="c" * 40,
    digest="sha256:00",
    migration="db/gitbot-one-0123456789",
    migration_uid="m-1",
    outcome="Succeeded",
    seconds=12,
    data={"group": "node/a", "wave": 0},
)


def _files(*entries: Entry) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for entry in chain(None, entries):
        files[entry.file] = append_lines(files.get(entry.file, b""), [entry])
    return files


def test_an_entry_reads_back_as_it_was_written() -> None:
    assert decode_line(encode_entry(FULL), file=FULL.file, number=1) == FULL


def test_empty_fields_are_absent() -> None:
    line = encode_entry(Entry(file="hold.jsonl", time=0, state="set", seq=1))
    assert line == b'{"seq":1,"state":"set","time":"1970-01-01T00:00:00Z"}'


def test_the_chain_runs_over_all_files() -> None:
    files = _files(
        Entry(file="a.jsonl", time=1), Entry(file="b.jsonl", time=2), Entry(file="a.jsonl", time=3)
    )
    entries = read_files({**files, "plans/sha256:00.json": b"{}"})
    assert [(entry.file, entry.seq) for entry in entries] == [
        ("a.jsonl", 1),
        ("b.jsonl", 2),
        ("a.jsonl", 3),
    ]
    assert not verify(entries)


def test_a_chain_goes_on_after_the_last_entry() -> None:
    first = chain(None, [Entry(file="a.jsonl", time=1)])
    second = chain(first[-1], [Entry(file="b.jsonl", time=2)])
    assert not verify((*first, *second))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a line is removed", lambda lines: [lines[0], lines[2]]),
        ("a line is changed", lambda lines: [lines[0], replace(lines[1], time=9), lines[2]]),
        ("a line is added twice", lambda lines: [*lines, lines[2]]),
        ("the first line is removed", lambda lines: lines[1:]),
    ],
)
def test_tampering_is_found(name: str, change: object) -> None:
    lines = list(chain(None, [Entry(file="a.jsonl", time=number) for number in range(3)]))
    changed = change(lines)  # type: ignore[operator]
    assert [finding.code for finding in verify(changed)][:1] == ["ledger/broken-chain"], name


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "a.jsonl:4: found no JSON, expected one ledger entry"),
        (b"[]", "a.jsonl:4: found list, expected an object"),
        (b'{"colour":1}', "a.jsonl:4: unknown field colour; was it written by hand?"),
        (b'{"time":"soon"}', "a.jsonl:4: time: found no RFC 3339 instant"),
        (b'{"move":true}', "a.jsonl:4: move: found bool, expected int"),
        (
            b'{"time": "1970-01-01T00:00:00Z"}',
            "a.jsonl:4: not canonical JSON; was it written by hand?",
        ),
    ],
)
def test_a_line_written_by_hand_is_named(line: bytes, message: str) -> None:
    with pytest.raises(LedgerError) as caught:
        decode_line(line, file="a.jsonl", number=4)
    assert str(caught.value) == message


def test_a_torn_last_line_is_an_error() -> None:
    content = _files(Entry(file="a.jsonl", time=1))["a.jsonl"]
    with pytest.raises(LedgerError, match=r"a\.jsonl: the last line is torn"):
        read_files({"a.jsonl": content[:-1]})
