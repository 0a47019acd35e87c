"""One clock for everything in a story: service, cluster, and every gitbot that a workflow starts.

Time passes only when somebody sleeps. What is set for an instant (`at`) happens while the one who
sleeps is still asleep: so a comment can come, or a run be cancelled, in the midst of another run.
"""

import threading
from collections.abc import Callable
from typing import Self

from gitbot.simulation.http.server import ApiServer
from gitbot.simulation.port import SimulatedPort
from tests.doubles.listener import Listener, RequestHandler


class WorldClock:
    """The Clock port over a simulated cluster, and `at` for what happens meanwhile."""

    def __init__(self, face: ApiServer) -> None:
        self._port = SimulatedPort(face.cluster)
        self._face = face
        self._set: list[tuple[int, int, Callable[[], None]]] = []
        self._conditions: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self._guard = threading.RLock()

    def now(self) -> int:
        """The present in seconds UTC."""
        with self._face.lock:
            return self._port.now()

    def sleep(self, seconds: int) -> None:
        """Let that much time pass, and happen what is set for it."""
        until = self.now() + max(seconds, 0)
        while (moment := self._next(until)) is not None:
            self._advance(moment[0])
            moment[2]()
        while self._conditions and self.now() < until:
            self._advance(self.now() + 1)
            self._look()
        self._advance(until)

    def at(self, moment: int, happening: Callable[[], None]) -> None:
        """Let something happen at an instant."""
        with self._guard:
            self._set.append((moment, len(self._set), happening))
            self._set.sort(key=lambda row: row[:2])

    def when(self, condition: Callable[[], bool], happening: Callable[[], None]) -> None:
        """Let something happen once, in the first second of a sleep at whose end this holds."""
        with self._guard:
            self._conditions.append((condition, happening))

    def _look(self) -> None:
        with self._guard:
            due = [row for row in self._conditions if row[0]()]
            self._conditions = [row for row in self._conditions if row not in due]
        for _, happening in due:
            happening()

    def _next(self, until: int) -> tuple[int, int, Callable[[], None]] | None:
        with self._guard:
            return self._set.pop(0) if self._set and self._set[0][0] <= until else None

    def _advance(self, until: int) -> None:
        with self._face.lock:
            self._port.sleep(until - self._port.now())


class ClockServer:
    """`GET /` tells the time, `POST /<seconds>` sleeps and tells the time after it."""

    def __init__(self, clock: WorldClock) -> None:
        self.clock = clock
        self._server = _Listener(_Connection, "clock")
        self._server.clock = clock

    @property
    def address(self) -> str:
        """`127.0.0.1:<port>`."""
        return self._server.address

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


class _Listener(Listener):
    daemon_threads = True
    block_on_close = False  # a program that was stopped while it sleeps keeps its connection
    clock: WorldClock


class _Connection(RequestHandler):
    server: _Listener

    def serve(self) -> None:
        if self.command == "POST":
            self.server.clock.sleep(int(self.path.strip("/")))
        text = str(self.server.clock.now()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
