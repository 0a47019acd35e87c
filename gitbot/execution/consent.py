"""Who consents to a merged plan: a pure decision from the facts of its pull request.

An owner consents by approving the merged head, before the merge or after it, and by being the
author. gitbot, other bots and accounts without the right to write never do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.execution.approval import MergedPull, seen_at
from gitbot.model.ledger.owner_approval import OwnerApproval, RequiredApproval

Members = Callable[[str], frozenset[str] | None]
"""The members of `@org/team`, and None if there is no such team or gitbot may not see it."""
GONE = "no such team, or gitbot may not read it"
NO_ACCOUNT = "a mail address, which no account can be asked for"


def consenting(
    pull: MergedPull, digest: str, *, bot: str, author_may_write: bool
) -> frozenset[str]:
    """The accounts that approve this plan of this head now. The last word of each counts."""
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
    if author_may_write:
        found.add(pull.author)
    return frozenset(name for name in found if name and not is_bot(name, bot))


def is_bot(account: str, bot: str) -> bool:
    """Whether an account is gitbot's own, or an App's (`name[bot]`)."""
    return account == bot or account.endswith("[bot]")


def judge(
    needs: Iterable[RequiredApproval], accounts: frozenset[str], *, members: Members, bot: str = ""
) -> tuple[OwnerApproval, ...]:
    """Each need with who gave what it asks for, and who could."""
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
