"""Whether reviews still cover the plan shown now, or the reviewers must approve again."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.errors import ForgeError
from gitbot.execution.approval import MergedPull, NotApproved, PullReview, decide, seen_at
from gitbot.model.ledger.events import ConcernState, PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import Forge, PullRequest
from gitbot.reports import Superseded

CHANGED = "changed since review: approve again"
MAX_SHOWN = 20


def changed_since_review(
    forge: Forge, pull: PullRequest, shown: Iterable[tuple[int, str]], digest: str
) -> bool:
    """Whether reviewers must approve again, because most of them saw another plan.

    `shown` are times (UTC seconds) and digests, oldest first. Asks the forge for the number of
    required approvals only if some reviews are of this plan and others are not.
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
        return True  # the forge does not say how many are required


def must_approve_again(forge: Forge, pull: PullRequest, records: tuple[PlanShown, ...]) -> bool:
    """Whether the reviewers must approve again: a merge now would approve nothing.

    The last record is the plan shown now. Missing approvals are the forge's business, not gitbot's.
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
        return False  # apply reports the error
    if not required or len(approvals) < required:
        return False
    times = [*(item.time for item in records), *(item.time for item in pull.reviews)]
    facts = facts_if_merged_now(pull, records).replace(
        merged_at=1 + max(times), reviews_required=required
    )
    return isinstance(decide(facts), NotApproved)


def facts_if_merged_now(pull: PullRequest, records: tuple[PlanShown, ...]) -> MergedPull:
    """MergedPull of a pull request that is still open (`merged_at=0`, `merged_by=""`)."""
    return MergedPull(
        number=pull.number,
        author=pull.author,
        head=pull.head,
        merge_commit="",
        merged_by="",
        merged_at=0,
        reviews=pull.reviews,
        records=records,
    )


def _approvals(pull: PullRequest) -> tuple[PullReview, ...]:
    """The newest review of each reviewer with write permission, if it approves any head or plan."""
    newest: dict[str, PullReview] = {}
    for review in sorted(pull.reviews, key=lambda item: item.time):
        newest[review.reviewer] = review
    return tuple(
        review
        for review in newest.values()
        if review.approved and review.can_write and review.reviewer != pull.author
    )


def proposed(ledger: Ledger, cluster: str, concern: str) -> tuple[Superseded, ...]:
    """The plans that gitbot's own pull request for a concern has shown, oldest first."""
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
