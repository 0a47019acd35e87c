"""The LedgerStore port, held on real Git."""

from pathlib import Path

import pytest

from gitbot.adapters.git import objects
from gitbot.adapters.git.ledger_branch import BRANCH, GitLedgerStore
from gitbot.adapters.git.process import Git
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ConflictError, LedgerError
from gitbot.model.ledger.events import MoveChanged, MoveState, StopSet
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger, request_file
from gitbot.model.ledger.request_id import RequestId
from tests.doubles.ledger import moves_of


def store(bare: Path, folder: Path) -> GitLedgerStore:
    return GitLedgerStore(GitRepository.clone(str(bare), folder))


def event(move: int, state: MoveState = MoveState.INTENDED) -> MoveChanged:
    return MoveChanged(
        file=request_file("prod", RequestId.read("request/apps/db")),
        time=1_000 + move,
        cluster="prod",
        request=RequestId.read("request/apps/db"),
        state=state,
        move=move,
        attempt=1,
        vm="apps/db-1",
    )


def test_an_empty_ledger(bare: Path, tmp_path: Path) -> None:
    assert store(bare, tmp_path / "a").read() == Ledger()


def test_what_was_appended_is_read_by_everybody(bare: Path, tmp_path: Path) -> None:
    one, two = store(bare, tmp_path / "a"), store(bare, tmp_path / "b")
    first = one.append(one.read(), (event(1), event(2)), {"sha256:aa": b"{}"})
    second = one.append(first, (StopSet(file=HOLD_FILE, time=2_000),), {})
    assert [line.seq for line in second.events] == [1, 2, 3]
    assert two.read() == second
    assert one.read() == second


def test_one_append_is_one_commit(bare: Path, tmp_path: Path) -> None:
    one = store(bare, tmp_path / "a")
    one.append(one.append(one.read(), (event(1),), {}), (event(1, MoveState.SUCCEEDED),), {})
    count = Git(bare).run(["rev-list", "--count", BRANCH]).decode().strip()
    assert count == "2"


def test_appending_nothing_writes_nothing(bare: Path, tmp_path: Path) -> None:
    one = store(bare, tmp_path / "a")
    first = one.append(one.read(), (event(1),), {"sha256:aa": b"{}"})
    assert one.append(first, (), {"sha256:aa": b"other"}) == first
    assert one.read() == first


def test_the_second_writer_loses_and_nothing_is_lost(bare: Path, tmp_path: Path) -> None:
    one, two = store(bare, tmp_path / "a"), store(bare, tmp_path / "b")
    seen_by_one, seen_by_two = one.read(), two.read()
    one.append(seen_by_one, (event(1),), {})
    with pytest.raises(ConflictError):
        two.append(seen_by_two, (event(2),), {})
    again = two.append(two.read(), (event(2),), {})
    assert [line.move for line in moves_of(again, event(1).file)] == [1, 2]


def test_a_rewritten_branch_stops_everything(bare: Path, tmp_path: Path) -> None:
    one = store(bare, tmp_path / "a")
    first = one.append(one.read(), (event(1),), {})
    one.append(first, (event(2),), {})
    Git(bare).run(["update-ref", f"refs/heads/{BRANCH}", first.head])
    with pytest.raises(LedgerError, match="no longer holds commit"):
        one.read()


def test_a_line_written_by_hand_is_found(bare: Path, tmp_path: Path) -> None:
    one = store(bare, tmp_path / "a")
    first = one.append(one.read(), (event(1),), {})
    repository = GitRepository.clone(str(bare), tmp_path / "b")
    path = request_file("prod", RequestId.read("request/apps/db"))
    lines = repository.read_blob(BRANCH, path)
    assert lines is not None
    repository.write_commit(
        branch=BRANCH, expected=first.head, files={path: lines.replace(b"db-1", b"db-2") + lines},
        message="m", time=1,
    )  # fmt: skip
    with pytest.raises(LedgerError, match="damaged or was rewritten"):
        store(bare, tmp_path / "c").read()


def test_only_lines_and_files_that_are_new_are_read_again(bare: Path, tmp_path: Path) -> None:
    one, two = store(bare, tmp_path / "a"), store(bare, tmp_path / "b")
    lines = tuple(event(number) for number in range(1, 40))
    first = one.append(one.read(), lines, {"sha256:aa": b"{}"})
    known = two.read()
    one.append(first, (StopSet(file=HOLD_FILE, time=2_000),), {})
    grown = two.read()
    assert [line.seq for line in grown.events] == list(range(1, 41))
    assert all(before is now for before, now in zip(known.events, grown.events, strict=False))
    assert grown.plans["sha256:aa"] is known.plans["sha256:aa"]


def test_a_former_line_that_changed_is_found_by_who_knows_it(bare: Path, tmp_path: Path) -> None:
    one = store(bare, tmp_path / "a")
    first = one.append(one.read(), (event(1), event(2)), {})
    repository = GitRepository.clone(str(bare), tmp_path / "b")
    path = request_file("prod", RequestId.read("request/apps/db"))
    lines = repository.read_blob(BRANCH, path)
    assert lines is not None
    repository.write_commit(
        branch=BRANCH,
        expected=first.head,
        files={path: lines.replace(b"db-1", b"db-2", 1)},
        message="m",
        time=1,
    )
    with pytest.raises(LedgerError, match="damaged or was rewritten"):
        one.read()


def test_a_plan_is_removed_with_the_next_lines(bare: Path, tmp_path: Path) -> None:
    one, two = store(bare, tmp_path / "a"), store(bare, tmp_path / "b")
    first = one.append(one.read(), (event(1),), {"sha256:aa": b"{}", "sha256:bb": b"{}"})
    gone = one.append(first, (event(2),), {"sha256:aa": None, "sha256:cc": None})
    assert gone.plans == {"sha256:bb": b"{}"}
    assert two.read() == one.read() == gone


def test_a_ledger_above_the_bounds_of_a_tree_is_still_read(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = store(bare, tmp_path / "a"), store(bare, tmp_path / "b")
    written = one.append(one.read(), (event(1),), {"sha256:aa": b"{}", "sha256:bb": b"{}"})
    monkeypatch.setattr(objects, "MAX_FILES", 1)
    monkeypatch.setattr(objects, "MAX_BYTES", 1)
    assert two.read() == written
    stopped = two.append(two.read(), (StopSet(file=HOLD_FILE, time=2_000),), {})
    assert one.read() == stopped
