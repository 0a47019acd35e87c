"""What more than one contract is held on."""

from pathlib import Path

import pytest

from gitbot.adapters.git.process import Git


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    directory = tmp_path / "intents.git"
    directory.mkdir()
    Git(directory).run(["init", "--bare", "--quiet", "--initial-branch=main"])
    return directory
