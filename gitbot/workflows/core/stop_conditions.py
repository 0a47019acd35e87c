"""What stops a pass: the cluster's flag, clocks that disagree, or that neither can be read.

A record of what was shown carries the forge's time, by its last answer. Small differences between
clocks are taken out of the records; with a large one nobody knows which came first.
"""

from __future__ import annotations

from gitbot.errors import GitbotError
from gitbot.execution.claims import SKEW_SECONDS
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.settings import Settings
from gitbot.workflows.core.context import RunContext

MAX_SKEW = SKEW_SECONDS
UNREADABLE = "the stop flag cannot be read"
SKEWED = "the API server's clock is"
FORGE_SKEWED = "the forge's clock is"
UNKNOWN = (UNREADABLE, SKEWED, FORGE_SKEWED, "the ledger")


def observe_mode_reason(settings: Settings) -> str:
    """Why the configuration lets nothing start, or ""."""
    if settings.applies:
        return ""
    default = f" (the default: {CONFIGURATION_FILE} has no mode)"
    return f"mode Observe applies nothing{default if settings.mode_is_missing else ''}"


def forge_skew(shell: RunContext) -> str:
    """Why nobody can tell what was shown before an approval; "" if the clocks agree."""
    skew = abs(shell.forge.clock_skew)
    if skew <= MAX_SKEW:
        return ""
    return f"{FORGE_SKEWED} {skew} s away from ours (at most {MAX_SKEW})"


def cluster_flag(shell: RunContext) -> str:
    """The reason of the cluster's stop flag, or why nobody can read it; "" if it is not set."""
    try:
        reason = shell.cluster.hold_flag()
    except GitbotError as error:
        return f"{UNREADABLE}: {error}"
    return "" if reason is None else reason or "ConfigMap gitbot/gitbot-hold is there"


def cluster_stop(shell: RunContext) -> str:
    """Why nothing may start on this cluster, or ""."""
    reason = cluster_flag(shell)
    if reason:
        return reason
    asked = shell.clock.now()
    try:
        there = shell.cluster.server_time()
    except GitbotError as error:
        return f"{UNREADABLE}: {error}"
    # it said so at some time in between: an answer that took long may hide a difference
    skew = max(abs(there - asked), abs(there - shell.clock.now()))
    return f"{SKEWED} {skew} s away from ours (at most {MAX_SKEW})" if skew > MAX_SKEW else ""
