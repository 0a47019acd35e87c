"""One kind that is followed: a thread that watches it, as client-go's reflector does.

kubernetes/client-go: tools/cache/reflector.go
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from gitbot.adapters.kubernetes.snapshot_reader import selectors
from gitbot.adapters.kubernetes.transport import HttpAnswer, Lines, Transport, retry_after
from gitbot.errors import ClusterError, SnapshotError
from gitbot.snapshot import EventType, FollowedRows, Resource, WatchEvent, read_event

TIMEOUT = (240, 300)  # seconds that a watch is asked to last
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SHORT = 5  # seconds: a stream that lasted less counts as a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMark:
    """A version that a consistent read showed.

    `began` is when that read began (seconds counted), `date` the server's clock in its answer.
    A kind whose stream reached this version is known as it was at `began` or later.
    """

    began: float
    date: int
    version: int


@dataclass(slots=True, kw_only=True)
class FollowedKind:
    """A kind as far as it was heard of. Hold the view's lock to use it.

    `is_lost`: it has to be listed again. `needed`: of which moment it has to be known at least.
    `refusal`: what the account may not do.
    """

    resource: Resource
    served: str  # version of its API group
    rows: FollowedRows
    version: int
    listed: VersionMark
    is_lost: bool = False
    needed: float = 0.0
    refusal: str = ""


class _LostError(Exception):
    """Events are missing, or came twice: only a list shows the state again."""


class KindStream(threading.Thread):
    """Watches one kind until `stop`, or until the kind has to be listed again."""

    def __init__(
        self, transport: Transport, kind: FollowedKind, changed: threading.Condition
    ) -> None:
        super().__init__(name=f"watch {kind.resource.plural}", daemon=True)
        self.kind = kind
        self._transport = transport
        self._changed = changed
        self._stopping = threading.Event()
        self._lines: Lines | None = None

    def stop(self) -> None:
        """Ask it to end; it takes no event from now on."""
        with self._changed:
            self._stopping.set()
            if self._lines is not None:
                self._lines.cut()

    def run(self) -> None:
        """Stream after stream, each from the version that the last one reached."""
        failures = 0
        try:
            while not self._stopping.is_set():
                began, pause, before = time.monotonic(), 0.0, self.kind.version
                with suppress(ClusterError):  # it resumes at the last version
                    pause = self._follow()
                short = time.monotonic() - began < SHORT
                stuck = self.kind.version == before
                failures = (failures + 1 if stuck else 1) if short else 0
                if failures:
                    pause = max(pause, min(FIRST_PAUSE * 2 ** min(failures, 16), LONGEST_PAUSE))
                    self._stopping.wait(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter
        except (_LostError, SnapshotError):
            pass
        finally:
            with self._changed:
                self.kind.is_lost = True
                self._changed.notify_all()

    def _follow(self) -> float:
        """One stream to its end; returns the seconds that the server wants to rest."""
        kind = self.kind
        query = {
            **selectors(kind.resource),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(kind.version),
            "timeoutSeconds": str(random.randint(*TIMEOUT)),  # noqa: S311 - not all at once
        }
        answer = self._transport.ask(kind.resource.path(kind.served), query, stream=True)
        if answer.lines is None:
            return self._refused(answer)
        with self._changed:
            self._lines = answer.lines
            if self._stopping.is_set():
                answer.lines.cut()
        for line in answer.lines:
            self._take(read_event(line))
        return 0.0

    def _refused(self, answer: HttpAnswer) -> float:
        if answer.status == 403:
            with self._changed:
                self.kind.refusal = f"watch {self.kind.resource.plural}"
        if answer.status in (400, 403, 404, 405, 410):
            raise _LostError
        return retry_after(answer)

    def _take(self, event: WatchEvent) -> None:
        if event.type is EventType.ERROR:
            if event.code == 410:
                raise _LostError
            raise ClusterError(f"the watch ended with {event.code}")
        if not event.version.isdecimal():
            raise _LostError
        version, kind = int(event.version), self.kind
        with self._changed:
            if self._stopping.is_set():
                raise _LostError
            if version < kind.version or (
                version == kind.version and event.type is not EventType.BOOKMARK
            ):
                raise _LostError  # replayed, or out of order: others may be missing
            if event.type is not EventType.BOOKMARK:
                kind.rows.change(event)
            kind.version = version
            self._changed.notify_all()


class Marker(threading.Thread):
    """Asks for the server's current version every few seconds until `stopping`.

    `due` says in how many seconds the next question is due: looks ask, too.
    """

    def __init__(
        self,
        ask: Callable[[], None],
        stopping: threading.Event,
        seconds: float,
        due: Callable[[], float],
    ) -> None:
        super().__init__(name="marks", daemon=True)
        self._ask, self._stopping, self._seconds, self._due = ask, stopping, seconds, due

    def run(self) -> None:
        rest = self._seconds
        while not self._stopping.wait(rest):
            rest = self._due()
            if rest <= 0:
                with suppress(ClusterError, SnapshotError):  # no newer mark: the view shows its age
                    self._ask()
                rest = self._seconds
