"""What starting costs: `--version`, `--help`, and a lint of 1,000 intents, against bare imports.

The peer is a bare interpreter that imports the five packages of the card and does nothing. All
sides are started in turn, and the best of the rounds counts on each side. gitbot's own files are
compiled before, as an installed package is.
"""

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import gitbot
from tests.bench.intent_repository import write
from tests.bench.table import Figure, ms, show

ROUNDS = 9
INTENTS = 1_000
CARD = "import kubernetes, github, git, jinja2, yaml"
SIDES = {
    "nothing": ("-c", "pass"),
    "card": ("-c", CARD),
    "--version": ("-m", "gitbot", "--version"),
    "--help": ("-m", "gitbot", "--help"),
    "lint": ("-m", "gitbot", "lint"),
}


def started(arguments: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of one cold start, which must end well."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return wall, used.ru_utime + used.ru_stime


def figures() -> Iterator[Figure]:
    """All sides in turn; the best of some rounds."""
    compileall.compile_dir(str(Path(gitbot.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), INTENTS)
        rounds = [
            {side: started(arguments, Path(name)) for side, arguments in SIDES.items()}
            for _ in range(ROUNDS)
        ]
    best = {
        side: tuple(min(taken[side][unit] for taken in rounds) for unit in (0, 1)) for side in SIDES
    }
    for argument in ("--version", "--help"):
        ours, theirs = (best[side][0] - best["nothing"][0] for side in (argument, "card"))
        yield Figure(
            what=f"start: gitbot {argument}, over a bare interpreter",
            gitbot=ms(ours),
            peer=f"{ms(theirs)} (bare imports)",
            ratio=theirs / ours,
            goal=8,
        )
    for unit, what in enumerate(("wall time", "processor time")):
        yield Figure(
            what=f"start: gitbot lint of {INTENTS} intents, {what}",
            gitbot=ms(best["lint"][unit]),
            peer=f"{ms(best['card'][unit])} (bare imports)",
            ratio=best["card"][unit] / best["lint"][unit],
            goal=1,
        )


def main() -> None:
    """Print the figures."""
    show(figures())


if __name__ == "__main__":
    main()
