"""The searches as commands, in a process of their own, so that coverage does not trace them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def searched(module: str, *arguments: str) -> str:
    """What `python -m MODULE` prints when nothing is broken."""
    finished = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-4000:] + finished.stderr[-2000:]
    return finished.stdout
