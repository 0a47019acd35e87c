"""The circuit breaker: too much went wrong, so gitbot stops itself until a person resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gitbot.execution.observe import UNEXPECTED
from gitbot.execution.state import last_resume, observed_entries
from gitbot.execution.values import BreakerLimits
from gitbot.model.ledger import HOLD_FILE, Entry, Ledger, MoveState

DAY = 86_400


def tripped(ledger: Ledger, cluster: str, *, now: int, limits: BreakerLimits) -> str:
    """Why the circuit opens, "" where it stays closed.

    Counted is what happened within a day and since a person last resumed; a limit of 0 is off.
    """
    since = max(now - DAY, last_resume(ledger, cluster))
    prefix = f"requests/{cluster}/"
    recent = [
        entry for entry in ledger.entries if entry.time > since and entry.file.startswith(prefix)
    ]
    failed = [entry for entry in recent if entry.state == MoveState.FAILED]
    unexpected = [entry for entry in failed if entry.outcome == UNEXPECTED]
    returns = _foreign_returns(ledger, cluster, since)
    for count, limit, what in (
        (len(unexpected), limits.unexpected_landings, "VMs landed where nobody approved it"),
        (len(failed), limits.failures, "moves failed"),
        (returns, limits.foreign_returns, "VMs were moved back by somebody else"),
    ):
        if limit and count >= limit:
            return f"circuit breaker: {count} {what} (limit {limit})"
    return ""


def breaker_entry(reason: str, *, cluster: str, now: int) -> Entry:
    """The ledger line by which gitbot stops itself."""
    return Entry(
        file=HOLD_FILE, time=now, cluster=cluster, state="set", author="gitbot", reason=reason
    )


def _foreign_returns(ledger: Ledger, cluster: str, since: int) -> int:
    """How often somebody else brought a VM back to where gitbot had taken it from."""
    taken_from: dict[str, str] = {}
    foreign = {id(entry) for entry in observed_entries(ledger, cluster)}
    returns: Counter[str] = Counter()
    for entry in _moves(ledger, cluster):
        if id(entry) in foreign:
            if entry.time > since and entry.landed and taken_from.get(entry.vm) == entry.landed:
                returns[entry.vm] += 1
        elif entry.state == MoveState.SUCCEEDED:
            taken_from[entry.vm] = entry.source
    return returns.total()


def _moves(ledger: Ledger, cluster: str) -> Iterable[Entry]:
    prefix = f"requests/{cluster}/"
    return (entry for entry in ledger.entries if entry.file.startswith(prefix))
