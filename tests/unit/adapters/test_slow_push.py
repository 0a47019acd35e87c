"""A push that is accepted and not answered in time was accepted."""

from pathlib import Path

import pytest

from gitbot.adapters.git import Git, GitRepository
from gitbot.errors import RepositoryError


@pytest.mark.parametrize(("hook", "accepted"), [("post-receive", True), ("pre-receive", False)])
def test_its_commit_on_the_remote_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str, accepted: bool
) -> None:
    remote = Git(tmp_path / "remote.git")
    remote.directory.mkdir()
    remote.run(["init", "--bare", "--quiet", "--template="])
    script = remote.directory / "hooks" / hook
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexec sleep 4\n")
    script.chmod(0o755)
    repository = GitRepository.clone(str(remote.directory), tmp_path / "mirror.git")
    monkeypatch.setattr("gitbot.adapters.git.process._TIMEOUT_SECONDS", 1)

    def push() -> str:
        return repository.write_commit(
            branch="main", expected=None, files={"a": b"1"}, message="one", time=7
        )

    if accepted:
        commit = push()
        assert repository.resolve("main") == commit
    else:
        with pytest.raises(RepositoryError, match="no answer within 1 seconds"):
            push()
        assert repository.resolve("main") is None
