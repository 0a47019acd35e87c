"""What merging a folder adds, without what the base branch asks for already."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.intents import REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def test_only_what_merging_the_folder_adds_is_planned(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    assert "0 moves, 0 blocked" in desk.gitbot("diff").out
    assert "Moves customapp/jumpbox" in desk.gitbot("plan").out
    desk.write(jump=REQUEST.replace("name: jump,", "name: again,"))
    assert "Moves customapp/jumpbox" in desk.gitbot("diff").out


def test_a_rule_that_nothing_heals_says_so_in_the_first_line(desk: Desk) -> None:
    desk.write(db=RULE)
    assert "0 moves now or later, 0 blocked, rule breaks 1 → 1" in desk.gitbot("diff").out


def test_another_base_counts_if_it_is_given(desk: Desk) -> None:
    before = desk.git("rev-parse", "HEAD").strip()
    desk.commit(jump=REQUEST)
    assert "0 moves, 0 blocked" in desk.gitbot("diff", "--base", "main").out
    assert "Moves customapp/jumpbox" in desk.gitbot("diff", "--base", before).out
