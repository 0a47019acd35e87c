"""What stops a pass: the cluster's flag, clocks that disagree, or that either is unreadable.

A record of a shown plan has the forge's time, from its last response. gitbot corrects small
differences between the clocks; with a large one, the order of events is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.errors import GitbotError
from gitbot.execution.claims import SKEW_SECONDS
from gitbot.execution.ledger_folds import stop_flag, unknown_events_reason
from gitbot.model.ledger.events import StopSet
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster
from gitbot.settings import Settings
from gitbot.workflows.core.context import RunContext

MAX_SKEW = SKEW_SECONDS
RESUME = "gitbot resume"
LOOK_AT_BASE = "git pull && gitbot lint"
ENFORCE = f"set mode: Enforce in {CONFIGURATION_FILE}"
FLAG = "ConfigMap gitbot/gitbot-hold"
UNREADABLE = "the stop flag cannot be read"
SKEWED = "the API server's clock is"
FORGE_SKEWED = "the forge's clock is"


class UnknownStop(str):
    """Why nothing may start: a fact that must be known first cannot be read, or is in doubt.

    A type, not a prefix: the reason that a person gave for a stop may begin like any of these.
    """

    __slots__ = ()
    next_command = "gitbot doctor"


class BaseStop(UnknownStop):
    """Why the base branch cannot be read: it has errors."""

    __slots__ = ()
    next_command = LOOK_AT_BASE


class LedgerStop(UnknownStop):
    """Why the ledger cannot be trusted: it was deleted, rolled back, or replaced."""

    __slots__ = ()
    next_command = "gitbot ledger verify"


class MovedStop(LedgerStop):
    """Why the ledger is another one: cluster or repository have a new name or address."""

    __slots__ = ()
    next_command = "gitbot ledger adopt"


class OutdatedStop(UnknownStop):
    """Why this version of gitbot does not understand the ledger: only an update helps."""

    __slots__ = ()
    next_command = ""


class HoldStop(str):
    """The stop flag's reason: a person set it, or the circuit breaker did."""

    __slots__ = ()
    next_command = RESUME


class FlagStop(HoldStop):
    """The reason of the flag in the cluster, which does not say who set it, or when."""

    __slots__ = ()


class ModeStop(str):
    """Why the configuration lets nothing start."""

    __slots__ = ()
    next_command = ENFORCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Why nothing can start. `by` and `since` (seconds UTC) are "" and 0 if unknown.

    `where` is the object of the cluster that says it, if not the ledger does.

    It is `healthy` if a person, the circuit breaker or the configuration wants it; otherwise gitbot
    cannot do its work.
    """

    reason: str
    healthy: bool
    by: str = ""
    since: int = 0
    where: str = ""
    next_command: str = ""

    def __str__(self) -> str:
        since = f"since {format_instant(self.since)}" if self.since else ""
        who = ", ".join(part for part in (self.by, since, self.where) if part)
        return f"{self.reason} ({who})" if who else self.reason


def standstill(stop: str, ledger: Ledger, cluster: str) -> Standstill | None:
    """The one answer to whether and why nothing can start; None if something may."""
    if not stop:
        return None
    reason = str(stop)  # without its type
    if isinstance(stop, UnknownStop):
        return Standstill(reason=reason, healthy=False, next_command=stop.next_command)
    last = ledger.stops(cluster)[-1:]
    if last and isinstance(last[0], StopSet) and stop == stop_flag(ledger, cluster):
        by, since = last[0].author, last[0].time
        return Standstill(reason=reason, healthy=True, by=by, since=since, next_command=RESUME)
    then = stop.next_command if isinstance(stop, HoldStop | ModeStop) else ""
    where = FLAG if isinstance(stop, FlagStop) else ""
    return Standstill(reason=reason, healthy=True, where=where, next_command=then)


def ledger_stop(ledger: Ledger, cluster: str) -> str:
    """Why the ledger's own content lets nothing start; "" if it does."""
    return outdated(ledger, cluster) or HoldStop(stop_flag(ledger, cluster))


def outdated(ledger: Ledger, cluster: str) -> str:
    return OutdatedStop(unknown_events_reason(ledger, cluster))


def observe_mode_reason(settings: Settings) -> str:
    """Why the configuration allows no starts; "" if it does."""
    if settings.applies:
        return ""
    default = f" (the default: {CONFIGURATION_FILE} has no mode)"
    return ModeStop(f"mode Observe applies nothing{default if settings.mode_is_missing else ''}")


def forge_skew(shell: RunContext) -> str:
    """Why the order of shown plans and approvals is unknown; "" if the clocks agree."""
    skew = abs(shell.forge.clock_skew)
    if skew <= MAX_SKEW:
        return ""
    return UnknownStop(f"{FORGE_SKEWED} {skew} s away from ours (at most {MAX_SKEW})")


def cluster_flag(cluster: Cluster) -> str:
    """The reason of the cluster's stop flag, or why it is unreadable; "" if it is not set."""
    try:
        reason = cluster.hold_flag()
    except GitbotError as error:
        return UnknownStop(f"{UNREADABLE}: {error}")
    return flag_stop(reason)


def flag_stop(reason: str | None) -> str:
    """What a stop flag with that reason means; None: there is none."""
    return "" if reason is None else FlagStop(reason or "held")


def cluster_stop(shell: RunContext) -> str:
    """Why nothing may start on this cluster; "" if it may."""
    try:
        return read_cluster_stop(shell.cluster, shell.clock)
    except GitbotError as error:
        return UnknownStop(f"{UNREADABLE}: {error}")


def read_cluster_stop(cluster: Cluster, clock: Clock) -> str:
    """As `cluster_stop`, but raises ClusterError if the flag or the clock is unreadable."""
    asked = clock.now()
    reason, there = cluster.flag_and_time()
    if reason is not None:
        return flag_stop(reason)
    # The server read its clock at some moment in between: a slow response may hide a difference.
    skew = max(abs(there - asked), abs(there - clock.now()))
    if skew <= MAX_SKEW:
        return ""
    return UnknownStop(f"{SKEWED} {skew} s away from ours (at most {MAX_SKEW})")
