"""What a commit says never changes: Git is asked for it once."""

from pathlib import Path

import pytest

from gitbot.adapters.git import GitRepository
from tests.unit.adapters.git_shim import commit_to, instead_of_git, remote_with


def test_git_is_asked_once_for_a_commit_and_once_for_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, tree, first = remote_with(tmp_path, "main")
    repository = GitRepository.clone(str(remote.directory), tmp_path / "mirror")
    counts = tmp_path / "counts"
    counting = f"for word; do case $word in log) echo asked >> {counts};; esac; done"
    instead_of_git(counting, tmp_path, monkeypatch)
    for _ in range(3):
        assert repository.commit("main").id == first
        assert [each.id for each in repository.log("main", limit=10)] == [first]
    assert counts.read_text().count("asked") == 2
    second = commit_to(remote, tree, "main", first, message="two")
    repository.fetch()
    assert repository.commit("main").id == second, "a branch that moved is read again"
    assert [each.id for each in repository.log("main", limit=10)] == [second, first]
