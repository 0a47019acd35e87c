from __future__ import annotations

import os
import subprocess
import sys

STORY = """
import hashlib, json
from gitbot.simulation.resources import BY_KIND
from gitbot.simulation.scenes import customapp
cluster = customapp(step=9, seed=3, jumpbox=True)
objects = [obj for kind in BY_KIND for obj in cluster.list(kind)]
print(cluster.now(), hashlib.sha256(json.dumps(objects).encode()).hexdigest())
"""


def test_the_same_story_gives_the_same_bytes_under_every_hash_seed() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", STORY],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
