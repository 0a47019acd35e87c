"""Writing the ledger: one commit a step, compare-and-swap, at most six pushes a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from gitbot.errors import ConflictError
from gitbot.model.ledger import Entry, Ledger
from gitbot.ports.clock import Clock
from gitbot.ports.ledger import LedgerStore

PUSHES = 6
MINUTE = 60
LOST_RACES = 8

T = TypeVar("T")


def retried(decide: Callable[[], T]) -> T:
    """Read, decide and write, again where somebody else wrote first; ConflictError in the end.

    `decide` must read everything anew, so that what it writes is right on top of what it lost to.
    """
    for _ in range(LOST_RACES):
        try:
            return decide()
        except ConflictError:
            continue
    return decide()


class Journal:
    """The ledger as last read, and what is to be written with the next step."""

    def __init__(self, store: LedgerStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pushed: list[int] = []
        self._pending: list[Entry] = []
        self.ledger = Ledger()
        self.written = 0

    @property
    def seen(self) -> Ledger:
        """The ledger with what is not yet written."""
        pending = tuple(self._pending)
        return Ledger(
            entries=(*self.ledger.entries, *pending),
            plans=self.ledger.plans,
            head=self.ledger.head,
        )

    def read(self) -> Ledger:
        """Read again. Outcomes not yet written stay pending only where nobody else wrote."""
        ledger = self._store.read()
        if ledger.head != self.ledger.head:
            self._pending.clear()  # whatever happened is seen again in the cluster
        self.ledger = ledger
        return self.seen

    def note(self, *entries: Entry) -> None:
        """Remember outcomes for the next commit."""
        self._pending += entries

    def commit(self, entries: tuple[Entry, ...], plans: Mapping[str, bytes] | None = None) -> None:
        """Write pending outcomes and the entries. ConflictError where somebody else was first."""
        fresh = (*self._pending, *entries)
        new_plans = {key: data for key, data in (plans or {}).items() if key not in self.seen.plans}
        if not fresh and not new_plans:
            return
        self.wait_for_turn()
        self._pushed.append(self._clock.now())
        self._pending.clear()  # on a lost race they are seen again in the cluster
        self.ledger = self._store.append(self.ledger, fresh, new_plans)
        self.written += len(fresh)

    def wait_for_turn(self) -> bool:
        """Sleep until one more push keeps the limit; whether time passed."""
        now = self._clock.now()
        self._pushed = [time for time in self._pushed if now - time < MINUTE]
        if len(self._pushed) < PUSHES:
            return False
        self._clock.sleep(MINUTE - (now - self._pushed[0]))
        return True
