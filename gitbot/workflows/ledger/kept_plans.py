"""The approved plans in the ledger, by digest."""

from __future__ import annotations

from functools import lru_cache

from gitbot.errors import InvalidInput, LedgerError
from gitbot.model.ledger.events import MoveApproved
from gitbot.model.ledger.ledger import Ledger
from gitbot.published import PlanDocument, read_plan


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
    approved = {event.digest for event in ledger.events if isinstance(event, MoveApproved)}
    for digest in sorted(approved.union(ledger.plans)):
        if plan_of(ledger, digest) is None:
            raise LedgerError(f"plans/{digest}.json is missing: moves of it were approved")


@lru_cache(maxsize=128)
def _read_once(data: bytes) -> PlanDocument:
    """Cached: plans never change, and a pass reads the same ones many times."""
    return read_plan(data)
