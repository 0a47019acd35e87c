"""The virtual clock: a queue of (time, sequence, action). Nothing here reads real time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from gitbot.errors import Bug

Action = Callable[[], None]


class VirtualClock:
    """Virtual time in integer seconds UTC. Actions of one second run in the order of `at`."""

    def __init__(self, start: int) -> None:
        self._now = start
        self._sequence = 0
        self._queue: list[tuple[int, int]] = []
        self._actions: dict[int, Action] = {}

    def now(self) -> int:
        return self._now

    def at(self, instant: int, action: Action) -> int:
        """Run an action at an instant, or now if that is past. Returns its number for `cancel`."""
        self._sequence += 1
        self._actions[self._sequence] = action
        heapq.heappush(self._queue, (max(instant, self._now), self._sequence))
        return self._sequence

    def cancel(self, number: int) -> None:
        """Drop an action; one that has run already is not an error."""
        self._actions.pop(number, None)

    def next_instant(self) -> int | None:
        while self._queue and self._queue[0][1] not in self._actions:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def move_to(self, instant: int) -> None:
        """Set the present. Going back is a bug."""
        if instant < self._now:
            raise Bug(f"BUG: virtual time went back from {self._now} to {instant}")
        self._now = instant

    def pop_due(self) -> Action | None:
        """Take the next action that is due now; None if there is none."""
        due = self.next_instant()
        if due is None or due > self._now:
            return None
        return self._actions.pop(heapq.heappop(self._queue)[1])
