"""The plans in the ledger, by digest: read, and dropped where no merge approved them.

Anybody who may open a pull request can have plans shown, so the plans that nobody approved have a
budget. Lines are never dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from gitbot.errors import InvalidInput, LedgerError
from gitbot.model.caches import RowCache
from gitbot.model.ledger.events import (
    OBSERVATIONS,
    ConcernChanged,
    ConcernState,
    MergeJudged,
    MergeState,
    MoveApproved,
    PlanShown,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.published import PlanDocument, estimates, read_plan

KEPT = 90 * 86_400
"""Seconds for which a plan is kept after it has expired. A merge counts only before the expiry, so
this is how long its approval may still wait, for a pass or for an owner."""
KEPT_OF_A_PULL = 4
"""Digests of one pull request, the newest. A push back to an older head has its plan made again."""
UNAPPROVED_BYTES = 32 * 1024 * 1024
"""gitbot shows no new plan while the plans that nobody approved have more bytes."""

_OPENED = (ConcernState.PROPOSED, ConcernState.OPENED)


def plan_of(ledger: Ledger, digest: str) -> PlanDocument | None:
    """The plan with a digest; None if the ledger lacks it. Raises LedgerError if damaged."""
    data = ledger.plans.get(digest)
    if data is None:
        return None
    try:
        document = _read_once(data)
    except (InvalidInput, ValueError, RecursionError) as error:
        raise LedgerError(f"plans/{digest}.json: {error}") from error
    if document.digest != digest:
        raise LedgerError(f"plans/{digest}.json holds the plan {document.digest}")
    return document


def check_plans(ledger: Ledger) -> None:
    """Raises LedgerError if a plan is damaged, or if an approved one is missing."""
    for digest in sorted(_approved(ledger).union(ledger.plans)):
        if plan_of(ledger, digest) is None:
            raise LedgerError(f"plans/{digest}.json is missing: moves of it were approved")


def unneeded_plans(ledger: Ledger, now: int) -> frozenset[str]:
    """Digests of plans in the ledger that nobody approved and that no merge can approve any more.

    `now` in seconds UTC. A plan stays while its proposal is open, for `KEPT` after it has expired,
    and always once a merge or gitbot approved it. Of a pull request, the newest `KEPT_OF_A_PULL`
    stay.
    """
    return frozenset(ledger.plans) - _merged(ledger) - _shown(ledger, now) - _open(ledger, now)


def unapproved_bytes(ledger: Ledger) -> int:
    merged = _merged(ledger)
    return sum(len(data) for digest, data in ledger.plans.items() if digest not in merged)


def no_room(ledger: Ledger, now: int) -> str:
    """Why the ledger takes no new plan, or ""."""
    counted = ledger.plans.keys() - unneeded_plans(ledger, now) - _approved(ledger)
    size = sum(len(ledger.plans[digest]) for digest in counted)
    if size <= UNAPPROVED_BYTES:
        return ""
    return f"the ledger has {size} bytes of plans that nobody approved, {UNAPPROVED_BYTES} allowed"


def no_room_finding(reason: str) -> Finding:
    return Finding(
        code="ledger/full",
        severity=Severity.ERROR,
        message=f"this plan cannot be approved: {reason}",
        hint="close pull requests that nobody will merge; their plans go when they have expired",
    )


def _approved(ledger: Ledger) -> set[str]:
    """Digests whose moves were approved, by a merge or by gitbot within policy."""
    return {
        event.digest
        for event in ledger.events
        if isinstance(event, MoveApproved)
        or (isinstance(event, ConcernChanged) and event.state is ConcernState.AUTO)
    }


def _merged(ledger: Ledger) -> set[str]:
    """Also those whose merge counts, and whose moves still wait for an owner or for their time."""
    counted = {
        event.digest
        for event in ledger.events
        if isinstance(event, MergeJudged) and event.state is MergeState.COUNTED
    }
    return _approved(ledger) | counted


def _shown(ledger: Ledger, now: int) -> set[str]:
    pulls: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for event in ledger.events:
        if isinstance(event, PlanShown) and event.digest:
            ends = pulls[event.cluster, event.pull_request]
            end = max(event.expires_at, ends.pop(event.digest, 0))
            ends[event.digest] = end  # the newest is last
    return {
        digest
        for ends in pulls.values()
        for digest in list(ends)[-KEPT_OF_A_PULL:]
        if now <= ends[digest] + KEPT
    }


def _open(ledger: Ledger, now: int) -> set[str]:
    """Plans of gitbot's own proposals: those of open ones, and what was proposed not long ago."""
    told = [event for event in ledger.events if isinstance(event, ConcernChanged)]
    recent = {event.digest for event in told if now <= event.time + KEPT}
    last = {event.file: event for event in told if event.state not in OBSERVATIONS}
    return recent.union(item.digest for item in last.values() if item.state in _OPENED)


def estimates_of(
    ledger: Ledger, digests: Iterable[str]
) -> Mapping[str, Mapping[tuple[RequestId, int], int]]:
    """The estimated seconds of each move, of the plans with these digests, by digest."""
    known = {digest: ledger.plans[digest] for digest in digests if digest in ledger.plans}
    read = _estimates_once((data,) for data in known.values())
    return dict(zip(known, read, strict=True))


def _estimates(data: bytes) -> Mapping[tuple[RequestId, int], int]:
    try:
        return estimates(data)
    except (ValueError, RecursionError):  # `plan_of` says what is wrong with it
        return {}


_estimates_once = RowCache(_estimates)


@lru_cache(maxsize=128)
def _read_once(data: bytes) -> PlanDocument:
    """Cached: plans never change, and a pass reads the same ones many times."""
    return read_plan(data)
