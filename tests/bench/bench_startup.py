"""What `gitbot --version` and `--help` cost, against importing the five packages of the card."""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 9
CARD = "import git, yaml, kubernetes, jinja2, github"


def seconds(*arguments: str) -> float:
    """The best of several cold starts, in seconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Print the figures of one run, as a ratio."""
    bare = seconds("-c", "pass")
    card = seconds("-c", CARD) - bare
    for argument in ("--version", "--help"):
        cost = seconds("-m", "gitbot", argument) - bare
        print(
            f"startup {argument}: {cost * 1000:.0f} ms over a bare interpreter, "
            f"1/{card / cost:.1f} of importing the card's packages ({card * 1000:.0f} ms); goal 1/8"
        )


if __name__ == "__main__":
    main()
