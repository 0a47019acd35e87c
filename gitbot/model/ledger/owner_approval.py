"""Owner approvals: whose approval a move needs, and who has given it."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.model.text.wording import first_of

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RequiredApproval:
    """One of `owners` (`@org/team`, `@user`) must approve what moves in or to `subject`."""

    subject: str  # "namespace customapp", "node kni-worker4", "zone scu"
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OwnerApproval:
    """A need, the accounts that approved it (empty: none), and who else can.

    `able` has the members of each owner that is a team, `unknown` why another one cannot approve.
    """

    need: RequiredApproval
    by: tuple[str, ...] = ()
    able: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """As in `@acme/dba (ann, bob) for namespace customapp`."""
        members, reasons = dict(self.able), dict(self.unknown)
        parts = []
        for owner in self.need.owners:
            more = reasons.get(owner, "") or first_of(members.get(owner, ()), _NAMED)
            parts.append(f"{owner} ({more})" if more else owner)
        return f"{' or '.join(parts) or 'an owner (none is named)'} for {self.need.subject}"

    @property
    def line(self) -> str:
        """The line for a reviewer: who approved, or who must."""
        if self.by:
            return f"{self.need.subject} by {first_of(self.by, _NAMED)}"
        return f"missing: {self.words}"


def missing(consents: tuple[OwnerApproval, ...]) -> str:
    """The missing approvals, in words; "" if none is missing."""
    found = [consent.words for consent in consents if not consent.by]
    return f"waits for the approval of {'; and of '.join(found)}" if found else ""
