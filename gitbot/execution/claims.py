"""The fence around effects: who may send an announced one, until when, and when that is over.

The commit that announces an effect claims it. Only the claimer may send it, with one request, and
only for SEND_SECONDS. A request that was begun in time has reached the API server, or never will,
DELIVERY_SECONDS later. After that and SKEW_SECONDS nobody can send it: if the server has no
migration of that name, the effect may be ended, held, or claimed again under the next epoch.
docs/exactly-once.md has the argument, tests/laws/test_fence.py its check.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.execution.executor_types import CreateMigration, Effect, ExecutorInput, Steps
from gitbot.execution.request_records import MoveRecord
from gitbot.model.ledger.events import Claim, MoveChanged

SEND_SECONDS = 60
DELIVERY_SECONDS = 60  # longer than the client waits for an answer; kube-apiserver's own limit
SKEW_SECONDS = 30  # between our clock and the API server's

TOO_LATE = "too late: what was announced may no longer be sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The three times, in seconds; the shipped ones by default."""

    send: int = SEND_SECONDS
    delivery: int = DELIVERY_SECONDS
    skew: int = SKEW_SECONDS

    def settles_at(self, until: int) -> int:
        """From when on nobody can send what could be sent until then, in seconds UTC."""
        return until + self.delivery + self.skew


FENCE = Fence()


def claim_expires_at(record: MoveRecord) -> int:
    """From when on nobody can send the announced effect, in seconds UTC.

    Lines of older gitbots have no claim; their effect counts as claimed when it was announced.
    """
    claim = record.claim
    return FENCE.settles_at(record.intended_at + FENCE.send if claim is None else claim.until)


def is_free(view: ExecutorInput, record: MoveRecord) -> bool:
    """Whether nobody can send the announced effect, unless it is claimed again."""
    return is_unsent(view, record) or view.now >= claim_expires_at(record)


def is_unsent(view: ExecutorInput, record: MoveRecord) -> bool:
    """Whether this very process holds the claim, and has sent nothing."""
    return record.claim is not None and (record.migration, record.claim.epoch) in view.unsent


def next_claim(view: ExecutorInput, record: MoveRecord, *, ends: int) -> Claim:
    """The claim that follows the last one of a move, which may start before `ends`."""
    return Claim(
        executor=view.executor,
        epoch=record.claim.epoch + 1 if record.claim is not None else 1,
        judged=max((event.seq for event in view.ledger.events), default=0),
        until=min(view.now + FENCE.send, ends),
    )


def with_claims(steps: Steps, now: int) -> Steps:
    """The steps with claims that are good from now on: reading and deciding took their time.

    No claim is good beyond the time in which its move may start.
    """
    effects = tuple(_stamped(effect, now) for effect in steps.effects)
    creates = [effect.event for effect in effects if isinstance(effect, CreateMigration)]
    if not creates:
        return steps
    claimed = {event.migration: event for event in creates}
    events = tuple(
        claimed[event.migration] if isinstance(event, MoveChanged) and event.claim else event
        for event in steps.events
    )
    return steps.replace(events=events, effects=effects)


def _stamped(effect: Effect, now: int) -> Effect:
    if not isinstance(effect, CreateMigration) or effect.event.claim is None:
        return effect
    claim = effect.event.claim.good_until(min(now + FENCE.send, effect.ends))
    return effect.replace(event=effect.event.replace(claim=claim))


def release_claim(event: MoveChanged, *, now: int) -> MoveChanged:
    """The line that ends a claim of which nothing was sent: others need not wait."""
    assert event.claim is not None
    claim = event.claim.good_until(0)
    return event.replace(time=now, claim=claim, seq=0, previous="", reason="given back, never sent")
