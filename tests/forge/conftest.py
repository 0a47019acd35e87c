"""Fixtures of the tier `forge`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forge import description
from tests.unit.doubles.github.scene import Scene


@pytest.fixture
def watcher() -> description.Watcher:
    """Holds what it watches to GitHub's description; skips where that was not fetched."""
    if not description.present():
        pytest.skip("GitHub's description was not fetched: python -m tests.forge.npm")
    return description.Watcher()


@pytest.fixture
def scene(tmp_path: Path, watcher: description.Watcher) -> Iterator[Scene]:
    """The scene of the double's own tests; at the end nothing departed from the description."""
    made = Scene.make(tmp_path)
    made.github.watchers.append(watcher)
    with made.server:
        yield made
    assert watcher.wrong == []
