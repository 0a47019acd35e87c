"""What was reviewed: whether a newer plan is another one, and the plans that no longer hold."""

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
from gitbot.execution.state import PullRecord
from gitbot.model.ledger import Ledger, concern_file
from gitbot.ports.forge import Forge, PullRequest, Review
from gitbot.reports import Superseded

CHANGED = "changed since review: approve again"
MAX_SHOWN = 20


def changed_since_review(
    forge: Forge, pull: PullRequest, shown: Iterable[tuple[int, str]], digest: str
) -> bool:
    """Whether somebody must approve again: the plan is another one than what stood there.

    `shown` are times (seconds UTC) and digests, oldest first. How many approvals a merge needs is
    asked only where some are of this plan and others are not.
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
        return True  # how many are needed is not known


def must_approve_again(forge: Forge, pull: PullRequest, records: tuple[PullRecord, ...]) -> bool:
    """Whether those who approved must do so again: a merge now would approve nothing.

    The last of the records is what is shown now. Too few approvals are no matter of ours.
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
        return False  # apply says so
    if not required or len(approvals) < required:
        return False
    facts = MergedPull(
        number=pull.number,
        author=pull.author,
        head=pull.head,
        merge_commit="",
        merged_by="",
        merged_at=1
        + max([*(item.time for item in records), *(item.time for item in pull.reviews)]),
        reviews=tuple(review_fact(review) for review in pull.reviews),
        reviews_required=required,
        records=records,
    )
    return isinstance(decide(facts), NotApproved)


def _approvals(pull: PullRequest) -> tuple[Review, ...]:
    """The newest word of each reviewer, where it approves and may: of whatever head or plan."""
    newest: dict[str, Review] = {}
    for review in sorted(pull.reviews, key=lambda item: item.time):
        newest[review.reviewer] = review
    return tuple(
        review
        for review in newest.values()
        if review.approved and review.can_write and review.reviewer != pull.author
    )


def review_fact(review: Review) -> ReviewFact:
    """A review as approval sees it."""
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
        Superseded(digest=entry.digest, head=entry.commit, time=entry.time)
        for entry in ledger.of(concern_file(cluster, concern))
        if entry.state == "proposed"
    )


def superseded(records: Iterable[PullRecord | Superseded], digest: str) -> tuple[Superseded, ...]:
    """The plans shown before this one, newest first, each once."""
    found: dict[str, Superseded] = {}
    for record in reversed(tuple(records)):
        if record.digest not in ("", digest) and record.digest not in found:
            found[record.digest] = Superseded(
                digest=record.digest, head=record.head, time=record.time
            )
    return tuple(found.values())[:MAX_SHOWN]
