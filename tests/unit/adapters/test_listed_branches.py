"""A list of branches that Git could not finish is no list: nothing is dropped because of it."""

from pathlib import Path

import pytest

from gitbot.adapters.git import GitRepository
from gitbot.errors import RepositoryError
from tests.unit.adapters.git_shim import instead_of_git, remote_with

# fetches nothing at once, so that branches are listed, and cannot finish the list
FAILING = (
    "for word; do case $word in fetch) echo refused >&2; exit 1;; ls-remote) exit 1;; esac; done"
)


def test_a_list_that_failed_drops_no_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, _, commit = remote_with(tmp_path, "gitbot/ledger")
    repository = GitRepository.clone(str(remote.directory), tmp_path / "mirror")
    instead_of_git(FAILING, tmp_path, monkeypatch)
    with pytest.raises(RepositoryError, match="ls-remote failed"):
        repository.fetch()
    assert repository.resolve("gitbot/ledger") == commit
