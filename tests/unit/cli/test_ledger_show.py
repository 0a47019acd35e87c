"""`gitbot ledger show` encodes a line once to verify, once to choose and once to show it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.model.ledger.events import LedgerEvent
from gitbot.published import ledger_lines
from gitbot.published.document import encoded
from tests.unit.cli.desk import Desk, at_desk
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
    assert counts == {1: 3, 2: 3}


def test_lines_of_another_time_are_only_verified(desk: Desk, counts: Counter[int]) -> None:
    said = desk.gitbot("ledger", "show", "--since", "2026-11-01T00:00:00Z")
    assert (said.code, said.out) == (0, "no entry\n"), said.text
    assert counts == {1: 1, 2: 1}
