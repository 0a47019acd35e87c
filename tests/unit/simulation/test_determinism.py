import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

STORY = """
import hashlib, json
from gitbot.simulation.served_resources import BY_KIND
from tests.doubles.customapp import customapp
cluster = customapp(step=9, seed=3, jumpbox=True)
objects = [obj for kind in BY_KIND for obj in cluster.list(kind)]
print(cluster.now(), hashlib.sha256(json.dumps(objects).encode()).hexdigest())
"""


def test_the_same_story_gives_the_same_bytes_under_every_hash_seed() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", STORY],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
