"""The circuit breaker: after too many failures gitbot stops until a person resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gitbot.execution.observe import UNEXPECTED
from gitbot.execution.values import BreakerLimits
from gitbot.model.events import (
    ForeignMove,
    MoveChanged,
    MoveState,
    RequestEvent,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger import HOLD_FILE, Ledger

DAY = 86_400


def tripped(ledger: Ledger, cluster: str, *, now: int, limits: BreakerLimits) -> str:
    """Why the circuit opens, "" if it stays closed.

    It counts events within a day and since a person last resumed; a limit of 0 is off.
    """
    events, since = ledger.requests(cluster), now - DAY
    first = len(events) - _since_resume(ledger, cluster)
    moves = (event for event in events[first:] if isinstance(event, MoveChanged))
    failed = [event for event in moves if event.time > since and event.state is MoveState.FAILED]
    unexpected = [event for event in failed if event.outcome == UNEXPECTED]
    returns = _foreign_returns(events, first, since)
    for count, limit, what in (
        (len(unexpected), limits.unexpected_landings, "VMs landed on nodes that nobody approved"),
        (len(failed), limits.failures, "moves failed"),
        (returns, limits.foreign_returns, "VMs were moved back by somebody else"),
    ):
        if limit and count >= limit:
            return f"circuit breaker: {count} {what} (limit {limit})"
    return ""


def breaker_event(reason: str, *, cluster: str, now: int) -> StopSet:
    return StopSet(file=HOLD_FILE, time=now, cluster=cluster, author="gitbot", reason=reason)


def _since_resume(ledger: Ledger, cluster: str) -> int:
    """How many lines about moves follow the last resume: the clock of who resumed may be wrong."""
    count = 0
    for event in reversed(ledger.events):
        if isinstance(event, StopLifted) and event.cluster in ("", cluster):
            break
        count += isinstance(event, RequestEvent) and event.file.startswith(f"requests/{cluster}/")
    return count


def _foreign_returns(events: Iterable[RequestEvent], first: int, since: int) -> int:
    """How often somebody else moved a VM back to the node that gitbot moved it from."""
    taken_from: dict[str, str] = {}
    returns: Counter[str] = Counter()
    for number, event in enumerate(events):
        match event:
            case ForeignMove():
                home = taken_from.get(event.vm)
                counts = number >= first and event.time > since
                if counts and event.landed and home == event.landed:
                    returns[event.vm] += 1
            case MoveChanged(state=MoveState.SUCCEEDED):
                taken_from[event.vm] = event.source
    return returns.total()
