"""What stops a pass: the cluster's flag, clocks that disagree, or that either is unreadable.

A record of a shown plan has the forge's time, from its last response. gitbot corrects small
differences between the clocks; with a large one, the order of events is unknown.
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


class UnknownStop(str):
    """Why nothing may start: a fact that must be known first cannot be read, or is in doubt.

    A type, not a prefix: the reason that a person gave for a stop may begin like any of these.
    """

    __slots__ = ()


def observe_mode_reason(settings: Settings) -> str:
    """Why the configuration allows no starts; "" if it does."""
    if settings.applies:
        return ""
    default = f" (the default: {CONFIGURATION_FILE} has no mode)"
    return f"mode Observe applies nothing{default if settings.mode_is_missing else ''}"


def forge_skew(shell: RunContext) -> str:
    """Why the order of shown plans and approvals is unknown; "" if the clocks agree."""
    skew = abs(shell.forge.clock_skew)
    if skew <= MAX_SKEW:
        return ""
    return UnknownStop(f"{FORGE_SKEWED} {skew} s away from ours (at most {MAX_SKEW})")


def cluster_flag(shell: RunContext) -> str:
    """The reason of the cluster's stop flag, or why it is unreadable; "" if it is not set."""
    try:
        reason = shell.cluster.hold_flag()
    except GitbotError as error:
        return UnknownStop(f"{UNREADABLE}: {error}")
    return "" if reason is None else reason or "ConfigMap gitbot/gitbot-hold is there"


def cluster_stop(shell: RunContext) -> str:
    """Why nothing may start on this cluster; "" if it may."""
    reason = cluster_flag(shell)
    if reason:
        return reason
    asked = shell.clock.now()
    try:
        there = shell.cluster.server_time()
    except GitbotError as error:
        return UnknownStop(f"{UNREADABLE}: {error}")
    # The server read its clock at some moment in between: a slow response may hide a difference.
    skew = max(abs(there - asked), abs(there - shell.clock.now()))
    if skew <= MAX_SKEW:
        return ""
    return UnknownStop(f"{SKEWED} {skew} s away from ours (at most {MAX_SKEW})")
