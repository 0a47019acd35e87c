"""Writes the ledger: one commit for each step, compare-and-swap.

Records wait while there were six pushes within a minute. What claims, ends or stops something never
waits, and takes along what does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from gitbot.errors import ConflictError
from gitbot.execution.request_records import fold_requests
from gitbot.execution.transitions import check_transitions
from gitbot.model.ledger.events import (
    FINAL_STATES,
    KnownEvent,
    MoveChanged,
    MoveState,
    NodeChanged,
    RequestCancelled,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.clock import Clock
from gitbot.ports.ledger import LedgerStore
from gitbot.workflows.ledger.kept_plans import unneeded_plans

PUSHES = 6
MINUTE = 60
LOST_RACES = 8

_AT_ONCE = FINAL_STATES | {MoveState.INTENDED}

T = TypeVar("T")


def retried(decide: Callable[[], T]) -> T:
    """Read, decide and write; repeat if another process wrote first. Raises ConflictError at last.

    `decide` must read everything again, so that it decides on what the other process wrote.
    """
    for _ in range(LOST_RACES):
        try:
            return decide()
        except ConflictError:
            continue
    return decide()


class Journal:
    """The ledger as last read, and the events to write with the next step."""

    def __init__(self, store: LedgerStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pushed: list[int] = []
        self._pending: list[KnownEvent] = []
        self.ledger = Ledger()
        self.written = 0

    @property
    def seen(self) -> Ledger:
        """The ledger with the events that are not written yet."""
        if not self._pending:
            return self.ledger
        return Ledger(
            events=(*self.ledger.events, *self.unwritten),
            plans=self.ledger.plans,
            head=self.ledger.head,
        )

    @property
    def unwritten(self) -> tuple[KnownEvent, ...]:
        """Outcomes that the next commit writes."""
        return tuple(self._pending)

    def read(self, *, again: bool = True) -> Ledger:
        """Read again. If another process wrote, only unwritten creations stay pending.

        The next read of the cluster shows other outcomes again, but a migration may be deleted by
        then. Without `again`, what this process knows is enough.
        """
        ledger = self._store.read() if again else self._store.known()
        if ledger.head != self.ledger.head:
            self._pending = [event for event in self._pending if _is_news(ledger, event)]
        self.ledger = ledger
        return self.seen

    def note(self, *events: KnownEvent) -> None:
        self._pending += events

    def commit(
        self, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes] | None = None
    ) -> None:
        """Write pending outcomes and the events. Raises ConflictError if another run was first."""
        fresh = (*self._pending, *events)
        new_plans = {key: data for key, data in (plans or {}).items() if key not in self.seen.plans}
        if not fresh and not new_plans:
            return
        check_transitions(self.ledger, fresh)
        changed: dict[str, bytes | None] = {**new_plans}
        if new_plans:  # the ledger grows by plans: those that nobody can approve make room
            grown = self.seen.replace(events=(*self.seen.events, *events))
            changed |= dict.fromkeys(unneeded_plans(grown, self._clock.now()))
            changed |= new_plans
        if all(map(is_record, fresh)):
            self.wait_for_turn()
        self._pushed.append(self._clock.now())
        self.ledger = self._store.append(self.ledger, fresh, changed)
        self._pending.clear()
        self.written += len(fresh)

    def wait_for_turn(self) -> None:
        """Sleep until the limit allows one more push."""
        if not self.has_turn():
            self._clock.sleep(MINUTE - (self._clock.now() - self._pushed[-PUSHES]))

    def has_turn(self) -> bool:
        """Whether the limit allows one more push now."""
        now = self._clock.now()
        # The wall clock may step back: pushes that seem to lie ahead do not count for the last
        # minute.
        self._pushed = [time for time in self._pushed if 0 <= now - time < MINUTE]
        return len(self._pushed) < PUSHES


def is_record(event: KnownEvent) -> bool:
    """Whether a line may wait for others: it does not claim, end or stop anything."""
    match event:
        case MoveChanged():
            return event.state not in _AT_ONCE
        case NodeChanged() | RequestCancelled() | StopSet() | StopLifted():
            return False
        case _:
            return True


def _is_news(ledger: Ledger, event: KnownEvent) -> bool:
    """Whether the event says that a migration exists which the ledger has only announced."""
    if not isinstance(event, MoveChanged) or event.state is not MoveState.CREATED:
        return False
    request = fold_requests(ledger, event.cluster).get(event.request)
    move = request.moves.get(event.move) if request is not None else None
    return (
        move is not None and move.state is MoveState.INTENDED and move.migration == event.migration
    )
