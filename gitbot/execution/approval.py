"""What a merged pull request approves: a pure decision from its facts.

A person's pull request approves the plan that was last shown for the merged head before the newest
qualifying review (before the merge, if no reviews are required). If another plan was shown at that
moment, the review approves that one. A pull request of the bot approves exactly the digest in its
proposal file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from gitbot.execution.executor_types import Approval
from gitbot.model.ledger.events import PlanShown
from gitbot.model.ledger.owner_approval import OwnerApproval, RequiredApproval
from gitbot.model.struct import FrozenStruct

UNSURE = "unsure"  # instead of a digest: two plans were shown within one second


@dataclass(frozen=True, slots=True, kw_only=True)
class PullReview:
    """One review of the head `commit`. It counts only for the newest head, with write access."""

    reviewer: str
    approved: bool
    commit: str
    time: int
    can_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFact:
    """The proposal file of a merged pull request of the bot, as merged.

    `base` is the commit that the plan was made on; "" if the ledger does not have it.
    """

    concern: str
    digest: str
    expires_at: int
    base: str = ""


class MergedPull(FrozenStruct, frozen=True, kw_only=True):
    """The facts about one merged pull request. Times in seconds UTC."""

    number: int
    author: str
    head: str
    merge_commit: str
    merged_by: str
    merged_at: int
    reviews: tuple[PullReview, ...] = ()
    reviews_required: int = 0
    proposal: ProposalFact | None = None
    records: tuple[PlanShown, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApproved:
    """Why a merge approved nothing. `head` was merged at `merged_at` (UTC seconds)."""

    pull_request: int
    reason: str
    head: str = ""
    merged_at: int = 0
    unsure: bool = False  # it may have approved something; forge or Git cannot say so now
    lacks_reviews: bool = False  # too few count, by rights and rules that may change again


@lru_cache(maxsize=256)
def decide(pull: MergedPull) -> Approval | NotApproved:
    qualifying = qualifying_reviews(pull)
    if len({review.reviewer for review in qualifying}) < pull.reviews_required:
        return _nothing(
            pull,
            f"{pull.reviews_required} approvals of the merged head {pull.head[:12]} are required, "
            f"{len(qualifying)} found",
        )
    if pull.proposal is not None:
        return _proposed(pull, pull.proposal, qualifying)
    return _shown(pull, qualifying)


def qualifying_reviews(pull: MergedPull) -> tuple[PullReview, ...]:
    """The newest review of each reviewer, if it approves the merged head before the merge.

    The author's own review and reviews without write permission do not count. A review after the
    merge adds nothing and revokes nothing.
    """
    newest: dict[str, PullReview] = {}
    for review in sorted(pull.reviews, key=lambda item: item.time):
        if not (review.approved and review.time > pull.merged_at):
            newest[review.reviewer] = review
    return tuple(
        review
        for _, review in sorted(newest.items())
        if review.approved
        and review.can_write
        and review.commit == pull.head
        and review.reviewer != pull.author
    )


def _proposed(
    pull: MergedPull, proposal: ProposalFact, qualifying: tuple[PullReview, ...]
) -> Approval | NotApproved:
    if proposal.expires_at and pull.merged_at > proposal.expires_at:
        return _nothing(pull, "the proposal had expired when it was merged")
    return _approval(pull, proposal.digest, qualifying, concern=proposal.concern)


def seen_at(shown: Iterable[tuple[int, str]], moment: int) -> str | None:
    """The digest shown at the moment of an approval; None if no plan was shown yet.

    `shown` are times (UTC seconds) and digests, oldest first. Forges record whole seconds: if a
    second plan was shown in that second, the result is UNSURE.
    """
    known = tuple(shown)
    before = [digest for time, digest in known if time < moment]
    found = {*before[-1:], *(digest for time, digest in known if time == moment)}
    if len(found) > 1:
        return UNSURE
    return next(iter(found), None)


def _shown(pull: MergedPull, qualifying: tuple[PullReview, ...]) -> Approval | NotApproved:
    before_merge = [record for record in pull.records if record.time <= pull.merged_at]
    records = [record for record in before_merge if record.head == pull.head]
    if not records:
        return _nothing(pull, f"no plan was shown for the merged head {pull.head[:12]}")
    shown = [(record.time, record.digest) for record in records]
    limit, word = pull.merged_at, "merge"
    if pull.reviews_required:
        limit, word = max(review.time for review in qualifying), "newest approval"
    digest = seen_at(shown, limit)
    if digest is None:
        return _nothing(pull, "the plan was shown only after the newest approval")
    if digest == UNSURE:
        return _nothing(pull, f"another plan was shown in the same second as the {word}")
    if not digest:
        return _nothing(pull, "what was shown last was an error, not a plan")
    if any(later != digest for time, later in shown if time > limit):
        return _nothing(pull, "another plan was shown between the newest approval and the merge")
    agreed = tuple(review for review in qualifying if seen_at(shown, review.time) == digest)
    if len(agreed) < pull.reviews_required:
        return _nothing(
            pull,
            f"{pull.reviews_required} approvals of the plan that was shown last are required, "
            f"{len(agreed)} found: others approved an earlier plan",
        )
    expires_at = max(record.expires_at for record in records if record.digest == digest)
    if expires_at and pull.merged_at > expires_at:
        return _nothing(pull, "the plan had expired when it was merged")
    return _approval(pull, digest, agreed, concern="")


def _approval(
    pull: MergedPull, digest: str, qualifying: tuple[PullReview, ...], *, concern: str
) -> Approval:
    return Approval(
        digest=digest,
        pull_request=pull.number,
        commit=pull.merge_commit,
        head=pull.head,
        author=pull.author,
        approvers=tuple(sorted({review.reviewer for review in qualifying})),
        merger=pull.merged_by,
        merged_at=pull.merged_at,
        concern=concern,
    )


def _nothing(pull: MergedPull, reason: str) -> NotApproved:
    return NotApproved(
        pull_request=pull.number,
        reason=f"nothing is approved: {reason}",
        head=pull.head,
        merged_at=pull.merged_at,
    )


Members = Callable[[str], frozenset[str] | None]
"""The members of `@org/team`, and None if there is no such team or gitbot may not see it."""
GONE = "no such team, or gitbot may not read it"
NO_ACCOUNT = "a mail address, which no account can be asked for"


def consenting(pull: MergedPull, digest: str, *, bot: str, author_consents: bool) -> frozenset[str]:
    """The accounts that approve this plan of this head now. Only the last review of each counts.

    `author_consents`: the author may write, and pushed this head.
    """
    newest = {review.reviewer: review for review in sorted(pull.reviews, key=lambda r: r.time)}
    shown = [(record.time, record.digest) for record in pull.records if record.head == pull.head]
    found = {
        review.reviewer
        for review in newest.values()
        if review.approved
        and review.can_write
        and review.commit == pull.head
        and review.reviewer != pull.author
        and (pull.proposal is not None or seen_at(shown, review.time) == digest)
    }
    if author_consents:
        found.add(pull.author)
    return frozenset(name for name in found if name and not is_bot(name, bot))


def is_bot(account: str, bot: str) -> bool:
    """Whether an account is gitbot's own or a GitHub App's (`name[bot]`)."""
    return account == bot or account.endswith("[bot]")


def judge(
    needs: Iterable[RequiredApproval], accounts: frozenset[str], *, members: Members, bot: str = ""
) -> tuple[OwnerApproval, ...]:
    """Each required approval with the accounts that gave it, and those that still could."""
    return tuple(_judged(need, accounts, members, bot) for need in needs)


def _judged(
    need: RequiredApproval, accounts: frozenset[str], members: Members, bot: str
) -> OwnerApproval:
    people: dict[str, tuple[str, ...]] = {}
    unknown: dict[str, str] = {}
    able: set[str] = set()
    for owner in need.owners:
        if not owner.startswith("@"):
            unknown[owner] = NO_ACCOUNT
            continue
        known = members(owner) if "/" in owner else frozenset({owner[1:]})
        if known is None:
            unknown[owner] = GONE
            continue
        able |= {name.lower() for name in known}
        if "/" in owner:
            people[owner] = tuple(sorted(name for name in known if not is_bot(name, bot)))
    return OwnerApproval(
        need=need,
        by=tuple(sorted(name for name in accounts if name.lower() in able)),
        able=tuple(sorted(people.items())),
        unknown=tuple(sorted(unknown.items())),
    )
