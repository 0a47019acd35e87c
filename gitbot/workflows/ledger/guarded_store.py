"""A ledger store that makes no new branch beside an anchor.

If the branch was deleted, or the repository is a copy without it, an empty ledger would let
finished requests run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gitbot.errors import ConflictError, LedgerError
from gitbot.model.ledger.events import KnownEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.ledger import LedgerCounts, LedgerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedLedgerStore:
    """`missing` says why there should be a branch; asked only before the first line is written."""

    store: LedgerStore
    missing: Callable[[], str]
    counts: LedgerCounts = field(default_factory=LedgerCounts)

    def read(self) -> Ledger:
        return self.store.read()

    def known(self) -> Ledger:
        return self.store.known()

    def append(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        """As the store. Raises LedgerError if there is no branch, and an anchor knows one."""
        if not ledger.head and (why := self.missing()) and not self.store.read().head:
            raise LedgerError(why)  # with a branch by now, another process was first: a lost race
        try:
            grown = self.store.append(ledger, events, plans)
        except ConflictError:
            self.counts.lost_races += 1
            raise
        self.counts.appends += grown.head != ledger.head
        return grown


def unguarded(store: LedgerStore) -> LedgerStore:
    """The store itself, for a person who accepts that the ledger starts over."""
    return store.store if isinstance(store, GuardedLedgerStore) else store
