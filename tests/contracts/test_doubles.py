"""Repository and ledger in memory answer as the real ones do; the forge is in test_forge."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ConflictError, RepositoryError
from gitbot.model.ledger.events import StopSet
from gitbot.model.ledger.ledger import HOLD_FILE
from gitbot.ports.ledger import LedgerStore
from gitbot.ports.repository import Repository
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.repository import MemoryRepository


@dataclass
class Doors:
    """A repository with one commit on main, and a ledger."""

    repository: Repository
    ledger: LedgerStore

    def push(self, branch: str, **files: str) -> str:
        start = self.repository.resolve(branch)
        content: dict[str, bytes | None] = {name: text.encode() for name, text in files.items()}
        parents = None
        if start is None:
            main = self.repository.resolve("main")
            assert main is not None
            content = {**self.repository.read_tree(main), **content}
            parents = (main,)
        return self.repository.write_commit(
            branch=branch, expected=start, files=content, message=branch, time=5, parents=parents
        )


def real(folder: Path) -> Doors:
    LocalForge.create(folder / "bare.git", clock=SystemClock(), account="alice")
    repository = GitRepository.clone(str(folder / "bare.git"), folder / "mirror")
    return Doors(repository=repository, ledger=GitLedgerStore(repository))


def double(folder: Path) -> Doors:
    del folder
    return Doors(repository=MemoryRepository(), ledger=MemoryLedgerStore())


@pytest.fixture(params=[real, double], ids=["real", "double"])
def doors(request: pytest.FixtureRequest, tmp_path: Path) -> Doors:
    make: Callable[[Path], Doors] = request.param
    made = make(tmp_path)
    made.repository.write_commit(
        branch="main", expected=None, files={"a/b": b"0\n", "c": b"0\n"}, message="start", time=1
    )
    return made


# The repository


def test_trees_are_read_by_prefix(doors: Doors) -> None:
    head = doors.push("main", d="1\n")
    assert dict(doors.repository.read_tree("main")) == {"a/b": b"0\n", "c": b"0\n", "d": b"1\n"}
    assert dict(doors.repository.read_tree(head, "a/")) == {"a/b": b"0\n"}
    assert doors.repository.read_blob(head, "d") == b"1\n"
    assert doors.repository.read_blob(head, "nothing") is None


def test_the_second_writer_loses(doors: Doors) -> None:
    old = doors.repository.resolve("main")
    doors.push("main", d="1\n")
    for expected in (old, None):
        with pytest.raises(ConflictError):
            doors.repository.write_commit(
                branch="main", expected=expected, files={"e": b""}, message="late", time=9
            )


def test_merging_in_memory_takes_both_sides_or_refuses(doors: Doors) -> None:
    doors.push("left", d="1\n")
    doors.push("right", e="1\n")
    doors.push("clash", d="2\n")
    merged = doors.repository.merge_trees("left", "right")
    assert merged is not None
    assert sorted(doors.repository.read_tree(merged)) == ["a/b", "c", "d", "e"]
    assert doors.repository.merge_trees("left", "clash") is None


def test_ancestors_and_what_introduced_a_file(doors: Doors) -> None:
    start = doors.repository.commit("main").id
    added = doors.push("main", d="1\n")
    last = doors.push("main", d="2\n")
    assert doors.repository.is_ancestor(start, last)
    assert not doors.repository.is_ancestor(last, start)
    assert doors.repository.introduced_by("main", "d") == added
    assert doors.repository.introduced_by("main", "nothing") is None
    assert [item.id for item in doors.repository.log("main", limit=2)] == [last, added]


def test_branches_are_deleted_where_they_were_seen(doors: Doors) -> None:
    head = doors.push("work", d="1\n")
    with pytest.raises(ConflictError):
        doors.repository.delete_branch("work", expected=doors.repository.commit("main").id)
    doors.repository.delete_branch("work", expected=head)
    assert doors.repository.resolve("work") is None
    with pytest.raises(RepositoryError):
        doors.repository.commit("work")


# The ledger


def test_events_get_numbers_and_a_chain(doors: Doors) -> None:
    first = doors.ledger.append(
        doors.ledger.read(), (StopSet(file=HOLD_FILE, time=1),), {"p": b"{}"}
    )
    second = doors.ledger.append(first, (StopSet(file=HOLD_FILE, time=2),), {"p": b"other"})
    assert [event.seq for event in second.events] == [1, 2]
    assert second.events[1].previous.startswith("sha256:")
    assert second.plans == {"p": b"{}"}
    assert doors.ledger.read() == second


def test_the_second_append_on_one_head_loses(doors: Doors) -> None:
    empty = doors.ledger.read()
    doors.ledger.append(empty, (StopSet(file=HOLD_FILE, time=1),), {})
    with pytest.raises(ConflictError):
        doors.ledger.append(empty, (StopSet(file=HOLD_FILE, time=2),), {})
    assert len(doors.ledger.read().events) == 1


def test_nothing_to_write_writes_nothing(doors: Doors) -> None:
    ledger = doors.ledger.read()
    assert doors.ledger.append(ledger, (), {}) == ledger


def test_a_new_branch_starts_as_its_parent(doors: Doors) -> None:
    main = doors.repository.commit("main").id
    doors.repository.write_commit(
        branch="new",
        expected=None,
        files={"d": b"1\n", "c": None},
        message="m",
        time=3,
        parents=(main,),
    )
    assert sorted(doors.repository.read_tree("new")) == ["a/b", "d"]
