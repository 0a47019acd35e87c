"""A queue of keys to look at: a key waits once, is handled by one worker at a time, may be late."""

import heapq
import threading
import time

Key = tuple[str, str]


class WorkQueue:
    """As the work queues of Kubernetes' controllers: adding a key that waits changes nothing.

    A key that is added while a worker has it is handed out again after `done`.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heap: list[tuple[float, Key]] = []
        self._due: dict[Key, float] = {}
        self._busy: set[Key] = set()
        self._again: dict[Key, float] = {}
        self._closed = False

    def add(self, key: Key, after: float = 0.0) -> None:
        """Hand the key out, `after` seconds from now or earlier if it waits for an earlier time."""
        due = time.monotonic() + after
        with self._condition:
            if key in self._busy:
                self._again[key] = min(due, self._again.get(key, due))
            elif due < self._due.get(key, due + 1):
                self._due[key] = due
                heapq.heappush(self._heap, (due, key))
                self._condition.notify()

    def get(self) -> Key | None:
        """The next key, None when the queue is closed. Blocks."""
        with self._condition:
            while not self._closed:
                while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
                    heapq.heappop(self._heap)  # an earlier time was asked for since
                if not self._heap:
                    self._condition.wait()
                    continue
                due, key = self._heap[0]
                left = due - time.monotonic()
                if left > 0:
                    self._condition.wait(left)
                    continue
                heapq.heappop(self._heap)
                del self._due[key]
                self._busy.add(key)
                return key
            return None

    def done(self, key: Key) -> None:
        """The worker is through with the key."""
        with self._condition:
            self._busy.discard(key)
            due = self._again.pop(key, None)
        if due is not None:
            self.add(key, max(0.0, due - time.monotonic()))

    def close(self) -> None:
        """Let all workers go."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
