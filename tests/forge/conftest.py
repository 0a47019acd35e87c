"""Fixtures of the tier `forge`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.github.scene import Scene
from tests.forge import description


@pytest.fixture
def described() -> Iterator[None]:
    """What the double answers is GitHub's; skips if its description was not fetched."""
    if not description.present():
        pytest.skip("GitHub's description was not fetched: python -m tests.forge.npm")
    with description.watching():
        yield


@pytest.fixture
def scene(tmp_path: Path, described: None) -> Iterator[Scene]:
    """The scene of the double's own tests."""
    made = Scene.make(tmp_path)
    with made.server:
        yield made
