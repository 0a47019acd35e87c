"""The ledger's lines read back as they were written, and no change of them goes unnoticed."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from gitbot.errors import LedgerError
from gitbot.execution.ledger_folds import unknown_events_reason
from gitbot.model.ledger.event_parts import MoveTerms
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    KnownEvent,
    LedgerEvent,
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
    UnknownEvent,
)
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.text.instants import parse_instant
from gitbot.published import ledger_lines
from gitbot.published.ledger_lines import (
    append_lines,
    chain,
    decode_line,
    encode_event,
    ledger_schema,
    line_value,
    read_files,
    verify,
)

FILE = "requests/prod/request/db/one.jsonl"
APPROVED = MoveApproved(
    file=FILE,
    time=1_765_000_000,
    cluster="prod",
    seq=1,
    request=RequestId.read("request/db/one"),
    vm="db/one",
    vm_uid="u-1",
    move=3,
    source="a",
    to="b",
    reason="Maintenance",
    note="räck 7",
    author="ann",
    approvers=("bob", "eve"),
    merger="bob",
    pull_request=7,
    commit="c" * 40,
    digest="sha256:00",
    terms=MoveTerms(
        group="node/a",
        wave=0,
        attempts=1,
        intent="MigrationRequest/db/one",
        planned=RequestId.read("request/db/one"),
        allowed=((0, 60),),
        finish=False,
    ),
)
SUCCEEDED = MoveChanged(
    file=FILE,
    time=1_765_000_060,
    cluster="prod",
    state=MoveState.SUCCEEDED,
    request=RequestId.read("request/db/one"),
    vm="db/one",
    move=3,
    attempt=1,
    landed="b",
    migration="db/gitbot-one-0123456789",
    migration_uid="m-1",
    outcome="Succeeded",
    seconds=12,
)


def _stop(time: int) -> StopSet:
    return StopSet(file=HOLD_FILE, time=time)


def _files(*events: KnownEvent) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for event in chain(None, events):
        files[event.file] = append_lines(files.get(event.file, b""), [event])
    return files


@pytest.mark.parametrize("event", [APPROVED, SUCCEEDED])
def test_an_event_reads_back_as_it_was_written(event: KnownEvent) -> None:
    assert decode_line(encode_event(event), file=FILE, number=1) == event


def test_empty_fields_are_absent() -> None:
    line = encode_event(StopSet(file=HOLD_FILE, time=0, seq=1))
    assert line == b'{"seq":1,"state":"set","time":"1970-01-01T00:00:00Z"}'


def test_the_chain_runs_over_all_files() -> None:
    files = _files(_stop(1), SUCCEEDED, _stop(3))
    events = read_files({**files, "plans/sha256:00.json": b"{}"})
    assert [(event.file, event.seq) for event in events] == [
        (HOLD_FILE, 1),
        (FILE, 2),
        (HOLD_FILE, 3),
    ]
    assert not verify(events)


def test_a_chain_goes_on_after_the_last_event() -> None:
    first = chain(None, [_stop(1)])
    second = chain(first[-1], [SUCCEEDED])
    assert not verify((*first, *second))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a line is removed", lambda lines: [lines[0], lines[2]]),
        (
            "a line is changed",
            lambda lines: [lines[0], msgspec.structs.replace(lines[1], time=9), lines[2]],
        ),
        ("a line is added twice", lambda lines: [*lines, lines[2]]),
        ("the first line is removed", lambda lines: lines[1:]),
    ],
)
def test_tampering_is_found(name: str, change: object) -> None:
    lines = list(chain(None, [_stop(number) for number in range(3)]))
    changed = change(lines)  # type: ignore[operator]
    assert [finding.code for finding in verify(changed)][:1] == ["ledger/broken-chain"], name


NODE = NodeChanged(
    file="nodes/prod/fw/o1.jsonl",
    time=0,
    cluster="prod",
    state=NodeState.READY,
    request=OccurrenceId(window="fw", id="o1").drain,
    facts=NodeFacts(node="a"),
)
CONCERN = ConcernChanged(
    file="concerns/prod/tidy.jsonl", time=0, cluster="prod", state=ConcernState.GONE
)
SHOWN = PlanShown(
    file="pulls/7.jsonl",
    time=0,
    cluster="prod",
    pull_request=7,
    shown=Shown(head="h", base="b", expires_at="2026-10-01T00:00:00Z"),
)


@pytest.mark.parametrize(
    ("event", "file"),
    [
        (SUCCEEDED, "requests/other/request/db/one.jsonl"),
        (APPROVED, "requests/prod/request/db/two.jsonl"),
        (NODE, "nodes/prod/fw/o2.jsonl"),
        (CONCERN, "concerns/other/tidy.jsonl"),
        (SHOWN, "pulls/8.jsonl"),
    ],
)
def test_lines_in_the_file_of_others_are_found(event: KnownEvent, file: str) -> None:
    files = _files(event, _stop(1))
    assert len(read_files(files)) == 2
    files[file] = files.pop(event.file)
    with pytest.raises(LedgerError, match="belongs in"):
        read_files(files)


TIME = b'"time":"1970-01-01T00:00:00Z"'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", ": found no JSON, expected one ledger entry"),
        (b'{"move":1.5}', ": found no JSON, expected one ledger entry"),
        (b"[]", ": found list, expected an object"),
        (b'{"colour":1}', ": time: found no RFC 3339 instant"),
        (b'{"time":"soon"}', ": time: found no RFC 3339 instant"),
        (b'{"seq":"1",' + TIME + b"}", ": seq: found str, expected int"),
        (
            b'{"move":true,"request":"request/db/one","state":"running",' + TIME + b',"vm":"a/b"}',
            ": move: found bool, expected int",
        ),
        (
            b'{"time": "1970-01-01T00:00:00Z"}',
            ": not canonical JSON; was it written by hand?",
        ),
        (
            b'{"author":"","state":"set",' + TIME + b"}",
            ": not canonical JSON; was it written by hand?",
        ),
    ],
)
def test_a_line_written_by_hand_is_named(line: bytes, message: str) -> None:
    file = HOLD_FILE if b"set" in line else FILE
    with pytest.raises(LedgerError) as caught:
        decode_line(line, file=file, number=4)
    assert str(caught.value) == f"{file}:4{message}"


@pytest.mark.parametrize(
    "line",
    [
        b'{"author":"\\ud800","state":"set",' + TIME + b"}",
        b'{"colour":"\\ud800",' + TIME + b"}",
        b'{"state":"set","time":"0001-01-01T00:00:00+23:00"}',
    ],
)
def test_half_a_sign_and_a_time_before_all_years_are_no_bug(line: bytes) -> None:
    with pytest.raises(LedgerError, match=f"{HOLD_FILE}:4: found what no ledger entry holds"):
        decode_line(line, file=HOLD_FILE, number=4)


def test_a_last_line_that_is_cut_off_is_an_error() -> None:
    content = _files(_stop(1))[HOLD_FILE]
    with pytest.raises(LedgerError, match=r"hold\.jsonl: the last line is cut off"):
        read_files({HOLD_FILE: content[:-1]})


DAMAGE = [
    (lambda content: content.replace(b"\n", b"\r\n"), ":1: not canonical JSON"),
    (lambda content: b"\xef\xbb\xbf" + content, ":1: not canonical JSON"),
    (lambda content: content + b"\n", ":2: found no JSON"),
    (lambda content: content[:-1], ": the last line is cut off"),
    (lambda content: content + b"[]\n", ":2: found list, expected an object"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGE)
def test_a_damaged_file_says_what_to_do(damage: Callable[[bytes], bytes], words: str) -> None:
    content = _files(_stop(1))[HOLD_FILE]
    with pytest.raises(LedgerError) as caught:
        read_files({HOLD_FILE: damage(content)})
    assert str(caught.value).startswith(f"hold.jsonl{words}")
    assert caught.value.hint == "stop, and compare branch gitbot/ledger with a clone made before"


# What a newer gitbot wrote

SOON = {"head": "h", "base": "b", "expiresAt": "soon"}


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        (FILE, {"state": "paused", "request": "request/db/one"}, "paused"),
        (HOLD_FILE, {"state": "set", "until": "2026-10-01T00:00:00Z"}, "set"),
        (HOLD_FILE, {}, "no state"),
        (FILE, {"state": "approved", "request": "r", "vm": "a/b", "move": 1}, "approved"),
        (FILE, {"state": "cancelled", "request": "evict/db/one"}, "cancelled"),
        (
            "pulls/1.jsonl",
            {"state": "shown", "pullRequest": 1, "data": SOON},
            "shown",
        ),
        ("quotas/prod.jsonl", {"state": "set", "limits": [{"cpu": 4}]}, "set"),
    ],
)
def test_an_unknown_event_is_kept_as_it_is(file: str, fields: dict[str, Any], words: str) -> None:
    known = {"cluster": "prod", "seq": 1, "time": "1970-01-01T00:00:09Z"}
    line = json.dumps({**fields, **known}, sort_keys=True, separators=(",", ":")).encode()
    (event,) = events = read_files({file: line + b"\n"})
    assert isinstance(event, UnknownEvent)
    assert (event.time, event.cluster, encode_event(event)) == (9, "prod", line)
    assert not verify((*events, *chain(event, [_stop(10)])))
    assert unknown_events_reason(Ledger(events=events), "prod") == (
        f"a newer gitbot wrote to the ledger: line 1 ({words} in {file}); update gitbot"
    )
    assert not unknown_events_reason(Ledger(events=events), "other")


def test_every_event_is_one_of_the_published_schema() -> None:
    unknown = UnknownEvent(
        file=FILE, time=0, content={"state": "paused", "time": "1970-01-01T00:00:00Z"}
    )
    lifted = StopLifted(file=HOLD_FILE, time=1, author="ann")
    events: tuple[LedgerEvent, ...] = (APPROVED, SUCCEEDED, lifted, unknown)
    items = [{"file": event.file, **line_value(event)} for event in events]
    document = {
        "apiVersion": "placement.gitbot.dev/v1alpha1",
        "kind": "LedgerEntryList",
        "items": json.loads(json.dumps(items)),
    }
    jsonschema.validate(document, ledger_schema())
    known = {"oneOf": ledger_schema()["properties"]["items"]["items"]["anyOf"][:-1]}
    for item in document["items"][:-1]:
        jsonschema.validate(item, {**known, "$defs": ledger_schema()["$defs"]})


@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2028-02-29T12:34:56Z",
        "9999-12-31T23:59:59Z",
    ],
)
def test_a_time_reads_back_as_it_is_written(time: str) -> None:
    line = b'{"seq":1,"state":"set","time":"%s"}' % time.encode()
    event = decode_line(line, file=HOLD_FILE, number=1)
    assert (event.time, encode_event(event)) == (parse_instant(time), line)


@pytest.mark.parametrize(
    "time",
    [
        "0000-01-01T00:00:00Z",
        "2027-02-29T00:00:00Z",
        "2026-12-06T24:00:00Z",
        "2026-12-06T23:60:00Z",
        "2026-12-06T23:59:60Z",
        "2026-12-06t23:59:59Z",
        "2026-12-06T23:59:59z",
        "2026-12-06T23.59.59Z",
        "2026-12-06T+1:59:59Z",
        "2026-12-06T23:59:5 Z",
    ],
)
def test_no_other_time_of_that_length_is_read(time: str) -> None:
    line = b'{"seq":1,"state":"set","time":"%s"}' % time.encode()
    with pytest.raises(LedgerError, match=r"hold.jsonl:1: "):
        decode_line(line, file=HOLD_FILE, number=1)


def test_the_lines_of_one_day_share_its_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing each time of 100,000 lines took a sixth of the time of reading them."""
    parsed: list[str] = []

    def parse(text: str) -> int:
        parsed.append(text)
        return parse_instant(text)

    monkeypatch.setattr(ledger_lines, "parse_instant", parse)
    midnight = parse_instant("2026-12-06T00:00:00Z")
    events = [_stop(midnight + number) for number in range(0, 86_400, 864)]
    content = append_lines(b"", chain(None, events))
    assert len(read_files({HOLD_FILE: content})) == len(events)
    assert parsed in ([], ["2026-12-06T00:00:00Z"])
