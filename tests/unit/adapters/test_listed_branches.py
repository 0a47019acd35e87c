"""A list of branches that Git could not finish is no list: nothing is dropped because of it."""

from pathlib import Path

import pytest

from gitbot.adapters.git import Git, GitRepository, commit_tree
from gitbot.errors import RepositoryError

# fetches nothing at once, so that branches are listed, and cannot finish the list
FAILING = """#!/bin/sh
for word; do case $word in fetch) echo refused >&2; exit 1;; ls-remote) exit 1;; esac; done
PATH=${PATH#*:}
exec git "$@"
"""


def test_a_list_that_failed_drops_no_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Git(tmp_path / "remote")
    remote.directory.mkdir()
    remote.run(["init", "--bare", "--quiet", "--template="])
    tree = remote.run(["mktree"]).decode().strip()
    commit = commit_tree(
        remote, tree, parents=(), message="one", name="ann", email="a@example", time=7
    )
    remote.run(["update-ref", "refs/heads/gitbot/ledger", commit])
    repository = GitRepository.clone(str(remote.directory), tmp_path / "mirror")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(FAILING)
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=":")
    with pytest.raises(RepositoryError, match="ls-remote failed"):
        repository.fetch()
    assert repository.resolve("gitbot/ledger") == commit
