"""Refs and the files on one, whoever moves them and however Git keeps them."""

from pathlib import Path

import pytest

from gitbot.adapters.git import Git, RefState, tip_of
from gitbot.errors import ConflictError, RepositoryError

REF = "refs/gitbot/forge"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    git = Git(tmp_path)
    git.run(["init", "--bare", "--quiet", "--template="])
    return git


def write(git: Git, **files: str) -> str:
    state = RefState(git, REF)
    tip, _ = state.read()
    data = {name: text.encode() for name, text in files.items()}
    return state.write(tip, data, message="work", time=7)


def test_a_ref_is_found_in_its_file_and_where_git_packs_it(git: Git) -> None:
    assert tip_of(git, REF) == ""
    first = write(git, a="1")
    assert tip_of(git, REF) == first
    git.run(["pack-refs", "--all", "--prune"])
    assert not (git.directory / REF).exists()
    assert tip_of(git, REF) == first
    second = write(git, a="2")  # a packed ref is outdated by its file
    assert tip_of(git, REF) == second


@pytest.mark.parametrize("ref", ["HEAD", "refs/heads/other"])
def test_a_ref_that_names_another_is_followed(git: Git, ref: str) -> None:
    commit = write(git, a="1")
    git.run(["update-ref", "refs/heads/main", commit])
    git.run(["symbolic-ref", ref, "refs/heads/main"])
    assert tip_of(git, ref) == commit


def test_a_folder_of_branches_is_no_branch(git: Git) -> None:
    git.run(["update-ref", "refs/heads/a/b", write(git, a="1")])
    assert tip_of(git, "refs/heads/a") == ""


def test_what_it_wrote_and_what_others_wrote_is_read(git: Git) -> None:
    mine, others = RefState(git, REF), RefState(git, REF)
    first = mine.write("", {"a": b"1", "b": b"1"}, message="work", time=7)
    assert mine.read() == others.read() == (first, {"a": b"1", "b": b"1"})
    second = others.write(first, {"b": b"2"}, message="work", time=8)
    assert mine.read() == others.read() == (second, {"a": b"1", "b": b"2"})
    assert RefState(git, REF).read() == mine.read()


def test_who_is_late_writes_nothing_and_reads_the_others(git: Git) -> None:
    mine, others = RefState(git, REF), RefState(git, REF)
    first = mine.write("", {"a": b"1"}, message="work", time=7)
    others.read()
    second = others.write(first, {"a": b"2"}, message="work", time=8)
    with pytest.raises(ConflictError, match="somebody else moved"):
        mine.write(first, {"a": b"3"}, message="work", time=9)
    assert mine.read() == (second, {"a": b"2"})


def test_a_ref_that_is_gone_has_no_files(git: Git) -> None:
    state = RefState(git, REF)
    state.write("", {"a": b"1"}, message="work", time=7)
    git.run(["update-ref", "-d", REF])
    assert state.read() == ("", {})


@pytest.mark.parametrize("torn", [b"", b"\0" * 41, b"0123456789abcdef"])
def test_a_damaged_ref_is_not_an_absent_one(git: Git, torn: bytes) -> None:
    write(git, a="1")
    (git.directory / REF).write_bytes(torn)
    with pytest.raises(RepositoryError, match=f"{REF} in .* is damaged"):
        RefState(git, REF).read()
