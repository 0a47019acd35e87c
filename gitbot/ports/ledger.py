"""The ledger store: read the whole ledger, append one commit, compare-and-swap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gitbot.model.ledger.events import KnownEvent
from gitbot.model.ledger.ledger import Ledger


@dataclass(slots=True, kw_only=True)
class LedgerCounts:
    """Commits that a process appended, and those that another process forestalled."""

    appends: int = 0
    lost_races: int = 0


class LedgerStore(Protocol):
    """Branch `gitbot/ledger` of the intents repository."""

    def read(self) -> Ledger:
        """The whole ledger, verified (sequence and hash chain). Raises LedgerError if damaged."""

    def known(self) -> Ledger:
        """The ledger as last read or written here; read now if it never was, or after a lost race.

        For repeats within a pass: whatever is decided on it is written by compare-and-swap.
        """

    def append(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        """Add events on top of `ledger` in one commit and push it, compare-and-swap.

        `plans` maps digests to `plans/<digest>.json`, written once; None removes one. Raises
        ConflictError if another process appended first: read again and decide again.
        """
