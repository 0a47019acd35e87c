"""The virtual clock: a queue of (time, sequence, action). Nothing here reads real time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from gitbot.errors import Bug

Action = Callable[[], None]


class VirtualClock:
    """Virtual time in integer seconds UTC. Actions of one second run in the order they were set."""

    def __init__(self, start: int) -> None:
        self._now = start
        self._sequence = 0
        self._queue: list[tuple[int, int, Action]] = []

    def now(self) -> int:
        """The virtual present in seconds UTC."""
        return self._now

    def at(self, instant: int, action: Action) -> None:
        """Run an action at an instant; one in the past runs at the present."""
        self._sequence += 1
        heapq.heappush(self._queue, (max(instant, self._now), self._sequence, action))

    def after(self, seconds: int, action: Action) -> None:
        """Run an action that many seconds from now."""
        self.at(self._now + seconds, action)

    def next_instant(self) -> int | None:
        """When the next action is due, None where none is."""
        return self._queue[0][0] if self._queue else None

    def move_to(self, instant: int) -> None:
        """Let the present be that instant. Going back is a bug."""
        if instant < self._now:
            raise Bug(f"BUG: virtual time went back from {self._now} to {instant}")
        self._now = instant

    def pop_due(self) -> Action | None:
        """Take the next action that is due at the present, None where none is."""
        if self._queue and self._queue[0][0] <= self._now:
            return heapq.heappop(self._queue)[2]
        return None
