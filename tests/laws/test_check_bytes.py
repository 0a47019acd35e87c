"""The same problem gives the same bytes: on any hash seed, in any order of its inputs."""

import os
import random
import subprocess
import sys
from pathlib import Path

from gitbot.documents import write_documents
from tests.unit.workflows.test_check import (
    CONFIGURATION,
    IMPOSSIBLE,
    OBJECTS,
    REQUEST,
    RULE,
    WINDOW,
)

INTENTS = [RULE, REQUEST, IMPOSSIBLE, WINDOW]
FORMS = ("json", "markdown")


def printed(folder: Path, *, seed: int) -> tuple[bytes, ...]:
    """What check prints of shuffled inputs in a process of its own."""
    shuffle = random.Random(seed).shuffle
    objects, intents = list(OBJECTS), list(INTENTS)
    shuffle(objects)
    shuffle(intents)
    where = folder / "intents" / "iberia"
    where.mkdir(parents=True)
    (folder / ".gitbot.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "cluster.yaml").write_text(write_documents(objects), encoding="utf-8")
    for text in intents:  # made in another order, under the same names
        (where / f"{INTENTS.index(text)}.yaml").write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-m", "gitbot", "check", "--snapshot", "cluster.yaml"]
    now = ["--now", "2026-12-06T21:00:00Z"]
    return tuple(
        subprocess.run(
            [*command, *now, "-o", form],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        ).stdout
        for form in FORMS
    )


def test_check_prints_the_same_bytes(tmp_path: Path) -> None:
    first = printed(tmp_path / "first", seed=0)
    assert all(first)
    assert printed(tmp_path / "other", seed=1) == first
