"""The circuit breaker: after too many failures gitbot stops until a person resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from gitbot.execution.executor_types import BreakerLimits
from gitbot.execution.observe import UNEXPECTED
from gitbot.model.ledger.events import (
    ForeignMove,
    MoveChanged,
    MoveState,
    RequestEvent,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger

DAY = 86_400


def breaker_reason(ledger: Ledger, cluster: str, *, now: int, limits: BreakerLimits) -> str:
    """Why the circuit opens, "" if it stays closed.

    It counts events within a day and since a person last resumed; a limit of 0 is off.
    """
    events, since = ledger.requests(cluster), now - DAY
    lifted = [event.seq for event in ledger.stops(cluster) if isinstance(event, StopLifted)]
    resumed = max(lifted, default=0)  # its place: the clock of who resumed may be wrong

    def counts(event: RequestEvent) -> bool:
        return event.time > since and (event.seq > resumed or not event.seq)  # 0: not written yet

    moves = (event for event in events if isinstance(event, MoveChanged) and counts(event))
    failed = [event for event in moves if event.state is MoveState.FAILED]
    unexpected = [event for event in failed if event.outcome == UNEXPECTED]
    returns = _foreign_returns(events, counts)
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


def _foreign_returns(events: Iterable[RequestEvent], counts: Callable[[RequestEvent], bool]) -> int:
    """How often somebody else moved a VM back to the node that gitbot moved it from."""
    taken_from: dict[str, str] = {}
    returns: Counter[str] = Counter()
    for event in events:
        match event:
            case ForeignMove():
                home = taken_from.get(event.vm)
                if counts(event) and event.landed and home == event.landed:
                    returns[event.vm] += 1
            case MoveChanged(state=MoveState.SUCCEEDED):
                taken_from[event.vm] = event.source
    return returns.total()
