"""What a commit says never changes: Git is asked for it once."""

from functools import partial
from pathlib import Path

import pytest

from gitbot.adapters.git import Git, GitRepository, commit_tree

COUNTING = """#!/bin/sh
for word; do case $word in log) echo asked >> COUNTS;; esac; done
PATH=${PATH#*:}
exec git "$@"
"""


def test_git_is_asked_once_for_a_commit_and_once_for_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Git(tmp_path / "remote")
    remote.directory.mkdir()
    remote.run(["init", "--bare", "--quiet", "--template="])
    tree = remote.run(["mktree"]).decode().strip()
    write = partial(commit_tree, remote, tree, name="ann", email="a@example", time=7)
    first = write(parents=(), message="one")
    remote.run(["update-ref", "refs/heads/main", first])
    repository = GitRepository.clone(str(remote.directory), tmp_path / "mirror")
    shim, counts = tmp_path / "bin" / "git", tmp_path / "counts"
    shim.parent.mkdir()
    shim.write_text(COUNTING.replace("COUNTS", str(counts)))
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=":")
    for _ in range(3):
        assert repository.commit("main").id == first
        assert [each.id for each in repository.log("main", limit=10)] == [first]
    assert counts.read_text().count("asked") == 2
    second = write(parents=(first,), message="two")
    remote.run(["update-ref", "refs/heads/main", second])
    repository.fetch()
    assert repository.commit("main").id == second, "a branch that moved is read again"
    assert [each.id for each in repository.log("main", limit=10)] == [second, first]
