"""Clocks that must agree: what is recorded as shown carries the forge's time, by its last answer.

Small differences are taken out of the records; where they are large nobody knows which it was.
"""

from __future__ import annotations

from gitbot.workflows.shell import Shell

MAX_SKEW = 30  # seconds between two clocks
FORGE_SKEWED = "the forge's clock is"


def forge_skew(shell: Shell) -> str:
    """Why nobody can say what was shown before an approval; "" where the clocks agree."""
    skew = abs(shell.forge.clock_skew)
    if skew <= MAX_SKEW:
        return ""
    return f"{FORGE_SKEWED} {skew} s away from ours (at most {MAX_SKEW})"
