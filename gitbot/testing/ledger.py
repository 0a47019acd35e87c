"""A ledger in memory, with the chain of the real one; a hook lets tests break it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from gitbot.errors import ConflictError
from gitbot.model.ledger import Entry, Ledger
from gitbot.model.ledger_json import chain, encode_entry


class MemoryLedgerStore:
    """The LedgerStore port without Git. `before_append` is called with the entries to come."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.appends = 0
        self.before_append: Callable[[tuple[Entry, ...]], None] = lambda _: None
        self.after_append: Callable[[tuple[Entry, ...]], None] = lambda _: None

    def read(self) -> Ledger:
        """The whole ledger."""
        return self.ledger

    def append(
        self, ledger: Ledger, entries: tuple[Entry, ...], plans: Mapping[str, bytes]
    ) -> Ledger:
        """Add entries on top of `ledger`; ConflictError where somebody else was first."""
        new_plans = {key: data for key, data in plans.items() if key not in ledger.plans}
        if not entries and not new_plans:
            return ledger
        self.before_append(entries)
        if ledger.head != self.ledger.head:
            raise ConflictError("somebody else moved gitbot/ledger first", hint="run again")
        linked = chain(ledger.entries[-1] if ledger.entries else None, entries)
        text = b"\n".join(
            [ledger.head.encode(), *map(encode_entry, linked), *sorted(new_plans.values())]
        )
        self.ledger = Ledger(
            entries=(*ledger.entries, *linked),
            plans={**ledger.plans, **new_plans},
            head=hashlib.sha256(text).hexdigest()[:40],
        )
        self.appends += 1
        self.after_append(entries)
        return self.ledger
