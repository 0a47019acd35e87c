"""Claims on effects: which executor may send one, until when, and from when on no process can.

The commit that announces an effect claims it. Only the claimer may send it, in one request, for
SEND_SECONDS. A request begun in time reaches the API server within DELIVERY_SECONDS, or never will.
SKEW_SECONDS later no process can send it: if the server has no migration of that name, gitbot may
end the effect, hold it, or claim it again under the next epoch. docs/exactly-once.md has the
argument; tests/laws/test_fence.py visits every state of a model of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.execution.executor_types import CreateMigration, Effect, ExecutorInput, Steps
from gitbot.execution.request_records import MoveRecord
from gitbot.model.ledger.events import Claim, KnownEvent, MoveApproved, MoveChanged

SEND_SECONDS = 60
# longer than the client waits for an answer, and kube-apiserver's own --request-timeout
DELIVERY_SECONDS = 60
SKEW_SECONDS = 30  # between this executor's clock and the API server's

TOO_LATE = "too late: what was announced may no longer be sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Limits of a claim in seconds; the tests use smaller ones."""

    send: int = SEND_SECONDS
    delivery: int = DELIVERY_SECONDS
    skew: int = SKEW_SECONDS

    def settles_at(self, until: int) -> int:
        """Earliest time (UTC seconds) at which no process can send a claim that ends at `until`."""
        return until + self.delivery + self.skew


FENCE = Fence()


def claim_expires_at(record: MoveRecord) -> int:
    """Earliest time (UTC seconds) at which no process can send the announced effect.

    Ledger lines older than claims have none: their effect counts as claimed when it was announced.
    """
    claim = record.claim
    return FENCE.settles_at(record.intended_at + FENCE.send if claim is None else claim.until)


def is_free(view: ExecutorInput, record: MoveRecord) -> bool:
    """Whether no process can send the announced effect any more, unless it is claimed again."""
    return is_unsent(view, record) or view.now >= claim_expires_at(record)


def is_unsent(view: ExecutorInput, record: MoveRecord) -> bool:
    """Whether this process has the claim and sent nothing. Then it need not wait for the end."""
    return record.claim is not None and (record.migration, record.claim.epoch) in view.unsent


def next_claim(view: ExecutorInput, record: MoveRecord, *, ends: int) -> Claim:
    """The next claim of a move that may start before `ends` (UTC seconds), under a new epoch."""
    return Claim(
        executor=view.executor,
        epoch=record.claim.epoch + 1 if record.claim is not None else 1,
        judged=max((event.seq for event in view.ledger.events), default=0),
        until=min(view.now + FENCE.send, ends),
    )


def with_claims(steps: Steps, now: int, *, version: str = "", cluster_uid: str = "") -> Steps:
    """The steps with claims that begin at `now`: reading and deciding took part of their time.

    Approvals and claims say which cluster they are for.
    """
    effects = tuple(_stamped(effect, now, version, cluster_uid) for effect in steps.effects)
    creates = [effect.event for effect in effects if isinstance(effect, CreateMigration)]
    claimed = {event.migration: event for event in creates}

    def noted(event: KnownEvent) -> KnownEvent:
        if isinstance(event, MoveApproved):
            return event.on_cluster(cluster_uid)
        if isinstance(event, MoveChanged) and event.claim and creates:
            return claimed[event.migration]
        return event

    return steps.replace(events=tuple(map(noted, steps.events)), effects=effects)


def _stamped(effect: Effect, now: int, version: str, cluster_uid: str) -> Effect:
    if not isinstance(effect, CreateMigration) or effect.event.claim is None:
        return effect
    until = min(now + FENCE.send, effect.ends)
    claim = effect.event.claim.good_until(until).made_by(version, cluster_uid)
    return effect.replace(event=effect.event.replace(claim=claim))


def release_claim(event: MoveChanged, *, now: int) -> MoveChanged:
    """The line that returns a claim of which nothing was sent, so that no executor waits for it."""
    assert event.claim is not None
    claim = event.claim.good_until(0)
    return event.replace(time=now, claim=claim, seq=0, previous="", reason="given back, never sent")
