"""Compares plans with what was approved: who must approve again, and which plans no longer hold."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.errors import ForgeError
from gitbot.execution.approval import (
    MergedPull,
    NotApproved,
    ReviewFact,
    decide,
    seen_at,
)
from gitbot.model.ledger.events import ConcernState, PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import Forge, PullRequest, PullReview
from gitbot.reports import Superseded

CHANGED = "changed since review: approve again"
MAX_SHOWN = 20


def changed_since_review(
    forge: Forge, pull: PullRequest, shown: Iterable[tuple[int, str]], digest: str
) -> bool:
    """Whether somebody must approve again, because the plan differs from the one shown then.

    `shown` are times (seconds UTC) and digests, oldest first. The forge is asked how many approvals
    a merge needs only if some are of this plan and others are not.
    """
    known = tuple(shown)
    seen = [seen_at(known, review.time) for review in _approvals(pull)]
    approved = [item for item in seen if item is not None]
    agreed = approved.count(digest)
    if agreed == len(approved):
        return False
    try:
        return not agreed or agreed < forge.reviews_required
    except ForgeError:
        return True  # the required number is unknown


def must_approve_again(forge: Forge, pull: PullRequest, records: tuple[PlanShown, ...]) -> bool:
    """Whether the reviewers must approve again: a merge now would approve nothing.

    The last of the records is what is shown now. Too few approvals are not our concern.
    """
    shown = [(item.time, item.digest) for item in records]
    digest = records[-1].digest
    if changed_since_review(forge, pull, shown, digest):
        return True
    approvals = _approvals(pull)
    if not digest or not approvals:
        return False
    try:
        required = forge.reviews_required
    except ForgeError:
        return False  # apply reports it
    if not required or len(approvals) < required:
        return False
    times = [*(item.time for item in records), *(item.time for item in pull.reviews)]
    facts = facts_if_merged_now(pull, records).replace(
        merged_at=1 + max(times), reviews_required=required
    )
    return isinstance(decide(facts), NotApproved)


def facts_if_merged_now(pull: PullRequest, records: tuple[PlanShown, ...]) -> MergedPull:
    """The facts about an open pull request, as if it were merged at 0 by nobody."""
    return MergedPull(
        number=pull.number,
        author=pull.author,
        head=pull.head,
        merge_commit="",
        merged_by="",
        merged_at=0,
        reviews=tuple(review_fact(review) for review in pull.reviews),
        records=records,
    )


def _approvals(pull: PullRequest) -> tuple[PullReview, ...]:
    """The latest review of each reviewer who may approve and does, of any head or plan."""
    newest: dict[str, PullReview] = {}
    for review in sorted(pull.reviews, key=lambda item: item.time):
        newest[review.reviewer] = review
    return tuple(
        review
        for review in newest.values()
        if review.approved and review.can_write and review.reviewer != pull.author
    )


def review_fact(review: PullReview) -> ReviewFact:
    return ReviewFact(
        reviewer=review.reviewer,
        approved=review.approved,
        commit=review.commit,
        time=review.time,
        can_write=review.can_write,
    )


def proposed(ledger: Ledger, cluster: str, concern: str) -> tuple[Superseded, ...]:
    """The plans that gitbot's own pull request of a concern has shown, oldest first."""
    return tuple(
        Superseded(digest=event.digest, head=event.commit, time=event.time)
        for event in ledger.concern(cluster, concern)
        if event.state is ConcernState.PROPOSED
    )


def superseded(records: Iterable[PlanShown | Superseded], digest: str) -> tuple[Superseded, ...]:
    """The plans shown before this one, newest first, each once."""
    found: dict[str, Superseded] = {}
    for record in reversed(tuple(records)):
        if record.digest not in ("", digest) and record.digest not in found:
            found[record.digest] = Superseded(
                digest=record.digest, head=record.head, time=record.time
            )
    return tuple(found.values())[:MAX_SHOWN]
