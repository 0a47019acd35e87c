"""`gitbot ledger show` encodes a line once to choose and once to show it."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.model.ledger.events import LedgerEvent, MoveChanged, MoveState
from gitbot.model.text.instants import format_instant
from gitbot.published import ledger_lines
from gitbot.published.document import encoded
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk, merge
from tests.unit.cli.test_never_out_of_date import JUMP
from tests.unit.cli.test_undo import record

MOVE = ("customapp/jumpbox", "kni-worker2", "kni-worker3", "succeeded")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        record(desk, MOVE, MOVE)
        yield desk


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each line was encoded, by its number."""
    counts: Counter[int] = Counter()

    def counted(event: LedgerEvent) -> object:
        counts[event.seq] += 1
        return encoded(event)

    monkeypatch.setattr(ledger_lines, "encoded", counted)
    return counts


@pytest.mark.parametrize("output", ["table", "wide", "csv", "json", "name"])
def test_each_line_is_encoded_once_for_each_purpose(
    desk: Desk, output: str, counts: Counter[int]
) -> None:
    said = desk.gitbot("ledger", "show", "-o", output)
    assert said.code == 0, said.text
    assert said.out.count("drain/racks/") >= (1 if output == "name" else 2)
    assert counts == {1: 2, 2: 2}


def rows_of(text: str) -> list[list[str]]:
    return [re.split(r" {3,}", row) for row in text.splitlines()]


def applied(desk: Desk, words: str) -> str:
    """The table, once it has the words: a busy machine may need another second to get there."""
    for _ in range(20):
        assert desk.gitbot("apply", "--max-runtime", "1").code in (0, 1)
        text = desk.gitbot("ledger", "show", "--reason", "disks").out
        if words in text:
            return text
    raise AssertionError(text)


def test_a_move_is_one_row_with_its_last_state(desk: Desk) -> None:
    store = desk.loop.shell.ledger_store
    assert isinstance(store, GitLedgerStore)
    before = store.read()
    first = before.events[0]
    assert isinstance(first, MoveChanged)
    failed = first.replace(state=MoveState.FAILED, reason="no target pod", seconds=95)
    again = first.replace(time=first.time + 90, attempt=2, landed="kni-worker3", seconds=65)
    store.append(before, (failed, again.replace(merger="alice", pull_request=7)), {})
    heading, other, row = rows_of(desk.gitbot("ledger", "show").out)
    place = ["customapp/jumpbox", "kni-worker2", "kni-worker3"]
    assert heading[:5] == ["TIME (Europe/Madrid)", "VM", "FROM", "TO", "TOOK"]
    assert other[:6] == ["Mon 2025-12-01 01:00:02", *place, "-", "succeeded"]
    assert row[:6] == ["Mon 2025-12-01 01:01:31", *place, "1 min 5 s", "succeeded"]
    assert row[6:] == ["alice", "#7", "-", "drain/racks/20261206T210000Z"]


def test_a_row_shows_nothing_of_an_attempt_before_and_nothing_after_until(desk: Desk) -> None:
    store = desk.loop.shell.ledger_store
    assert isinstance(store, GitLedgerStore)
    before = store.read()
    first = before.events[0]
    assert isinstance(first, MoveChanged)
    failed = first.replace(state=MoveState.FAILED, landed="kni-worker2", seconds=95)
    again = first.replace(time=first.time + 90, state=MoveState.RUNNING, attempt=2)
    store.append(before, (failed, again), {})
    row = rows_of(desk.gitbot("ledger", "show").out)[-1]
    assert row[3:6] == ["kni-worker3", "-", "running"]
    then = format_instant(first.time + 60)
    row = rows_of(desk.gitbot("ledger", "show", "--until", then).out)[-1]
    assert row[3:6] == ["kni-worker2", "1 min 35 s", "failed"]


def test_a_row_has_the_reason_of_the_intent_and_that_of_its_state(desk: Desk) -> None:
    desk.loop.commit({"jump.yaml": REQUEST.replace("spec:", "spec:\n  note: new disks")})
    assert desk.gitbot("propose").code == 0
    merge(desk, 1)
    applied(desk, "Maintenance: new disks")
    assert desk.gitbot("cancel", JUMP, "--by", "ann", "--reason", "not today").code == 0
    row = rows_of(applied(desk, "not today"))[-1]
    assert row[5] == "withdrawn: the request was cancelled: not today (ann)"
    assert row[-2:] == ["Maintenance: new disks", JUMP]


def test_long_reason_does_not_widen_the_table(desk: Desk) -> None:
    store = desk.loop.shell.ledger_store
    before = store.read()
    first = before.events[0]
    assert isinstance(first, MoveChanged)
    reason = "the rule would be broken: " + ", ".join(f"vm-{number}" for number in range(40))
    held = first.replace(move=3, state=MoveState.HELD, reason=reason)
    store.append(before, (held,), {})
    state = rows_of(desk.gitbot("ledger", "show").out)[-1][5]
    assert (len(state), state[-1]) == (80, "…")
    assert rows_of(desk.gitbot("ledger", "show", "-o", "wide").out)[-1][5] == f"held: {reason}"


@pytest.mark.parametrize(
    ("since", "until", "rows"),
    [
        ("2025-11-30", "2025-12-02", 2),
        ("2025-12-01", "2025-12-01 01:00", 0),
        ("2025-12-01", "2025-12-01 02:00", 2),
        ("last month", "this month", 0),
    ],
)
def test_dates_are_those_of_the_zone(desk: Desk, since: str, until: str, rows: int) -> None:
    said = desk.gitbot("ledger", "show", "--since", since, "--until", until)
    assert said.code == 0, said.text
    assert len(rows_of(said.out)) == 1 + rows


def test_lines_of_another_time_are_not_encoded(desk: Desk, counts: Counter[int]) -> None:
    said = desk.gitbot("ledger", "show", "--since", "2026-11-01T00:00:00Z")
    assert (said.code, said.out) == (0, "no move\n"), said.text
    assert counts == {}


def test_options_alone_show_the_ledger(desk: Desk) -> None:
    shown = desk.gitbot("ledger", "show", "-o", "json")
    assert desk.gitbot("ledger", "-o", "json") == shown
    assert desk.gitbot("ledger", "--help").out.startswith("Usage: gitbot ledger [OPTIONS] COMMAND")
