"""The engine: a change makes keys dirty, dirty keys are reconciled, due times come back.

Deterministic: keys are handled first in, first out; nothing depends on hash order or real time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from gitbot.errors import Bug
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Change, Key, Store
from gitbot.simulation.virtual_clock import VirtualClock

RETRY = 5  # seconds until a refused write is tried again
_ROUNDS = 1_000_000


class Controller(Protocol):
    """One control loop. `kinds` are the kinds that it watches."""

    @property
    def kinds(self) -> frozenset[str]: ...

    def touched(self, change: Change) -> Iterable[Key]:
        """The keys that a change makes dirty, in the order in which to handle them."""

    def reconcile(self, key: Key) -> int | None:
        """Bring one key forward; returns seconds until it wants to be called again (0: at once)."""


class ControllerLoop:
    """Drives the controllers over one store and one virtual clock.

    With `tolerant`, an object that a controller cannot handle goes into `failures` and is left
    alone, as real controllers do; otherwise its failure is raised.
    """

    def __init__(
        self, *, store: Store, clock: VirtualClock, controllers: Sequence[Controller]
    ) -> None:
        self._clock = clock
        self._controllers = tuple(controllers)
        self._queue: deque[tuple[int, Key]] = deque()
        self._queued: set[tuple[int, Key]] = set()
        self._timers: dict[tuple[int, Key], int] = {}
        self._by_kind: dict[str, list[int]] = {}
        for index, controller in enumerate(self._controllers):
            for kind in sorted(controller.kinds):
                self._by_kind.setdefault(kind, []).append(index)
        self.paused = False
        self.tolerant = False
        self.failures: list[str] = []
        store.listeners.append(self._on_change)

    def touch(self, controller: Controller, key: Key) -> None:
        self._enqueue((self._controllers.index(controller), key))

    def run_ready(self) -> None:
        """Reconcile until nothing is dirty at present."""
        for _ in range(_ROUNDS):
            if not self._queue:
                return
            item = self._queue.popleft()
            self._queued.discard(item)
            self._reconcile(item)
        raise Bug(f"BUG: controllers still write after {_ROUNDS} rounds; last {item}")

    def advance_to(self, instant: int, until: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass to an instant, or until a condition holds (checked each step).

        Returns whether the condition held (True without one).
        """
        self.run_ready()
        while until is None or not until():
            due = self._clock.next_instant()
            if due is None or due > instant:
                self._clock.move_to(instant)
                return until is None or until()
            self._clock.move_to(max(due, self._clock.now()))
            while action := self._clock.pop_due():
                action()
            self.run_ready()
        return True

    def idle(self) -> bool:
        """Whether nothing is dirty and nothing is due, at any time."""
        return not self._queue and self._clock.next_instant() is None

    def _on_change(self, change: Change) -> None:
        for index in self._by_kind.get(change.kind, ()):
            keys = self._controllers[index].touched(change)
            if self.paused:
                continue  # indexes still follow, but nothing is reconciled
            for key in keys:
                self._enqueue((index, key))

    def _enqueue(self, item: tuple[int, Key]) -> None:
        if item not in self._queued:
            self._queued.add(item)
            self._queue.append(item)

    def _reconcile(self, item: tuple[int, Key]) -> None:
        index, key = item
        try:
            again = self._controllers[index].reconcile(key)
        except ApiError:
            again = RETRY
        except Exception as failure:
            if not self.tolerant:
                raise
            self.failures.append(f"{type(self._controllers[index]).__name__} {key}: {failure!r}")
            again = None
        number = self._timers.pop(item, None)
        if number is not None:
            self._clock.cancel(number)
        if again == 0:
            self._enqueue(item)
        elif again is not None:
            instant = self._clock.now() + again
            self._timers[item] = self._clock.at(instant, lambda: self._enqueue(item))
