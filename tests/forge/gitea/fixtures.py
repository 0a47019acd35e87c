"""Gitea as a fixture; tests/conftest.py makes it known to all tests.

`gitea` is one server for the session: each test makes its own repository there. Mark tests that use
it `pytest.mark.forge`, and `pytest.mark.xdist_group("gitea")`, so that one process starts it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.forge.gitea import server
from tests.forge.gitea.server import Gitea, OwnGitea

LIVE = os.environ.get("GITBOT_LIVE_GITEA", "")


@pytest.fixture(scope="session")
def gitea_program() -> Path:
    found = build.programs().get("gitea")
    if found is None:
        reason = build.missing("gitea") or "python -m tests.controlplane.build gitea"
        pytest.skip(f"Gitea is not built: {reason}")
    return found


@pytest.fixture(scope="session")
def own_gitea(gitea_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnGitea]:
    """For tests that stop it, or whose accounts are for nothing else."""
    with server.gitea(gitea_program, tmp_path_factory.mktemp("gitea")) as started:
        yield started


@pytest.fixture(scope="session")
def gitea(request: pytest.FixtureRequest) -> Gitea:
    """The server that `python -m tests.contracts.live` names, else our own."""
    if LIVE:
        return Gitea.at(LIVE, os.environ["GITBOT_LIVE_TOKEN"])
    own: Gitea = request.getfixturevalue("own_gitea")
    return own
