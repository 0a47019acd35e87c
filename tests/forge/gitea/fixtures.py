"""Gitea as a fixture; tests/conftest.py makes it known to all tests.

`gitea` is one server for the session: each test makes its own repository there. Mark tests that use
it `pytest.mark.forge`, and `pytest.mark.xdist_group("gitea")`, so that one process starts it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.forge.gitea import server
from tests.forge.gitea.server import Gitea


@pytest.fixture(scope="session")
def gitea_program() -> Path:
    found = build.programs().get("gitea")
    if found is None:
        reason = build.missing("gitea") or "python -m tests.controlplane.build gitea"
        pytest.skip(f"Gitea is not built: {reason}")
    return found


@pytest.fixture(scope="session")
def gitea(gitea_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with server.gitea(gitea_program, tmp_path_factory.mktemp("gitea")) as started:
        yield started
