"""Ties virtual time to real time by a factor. Real time comes in as a function."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitbot.simulation.http.server import ApiServer

TICK = 0.05  # real seconds between two looks at the clock


class Runner:
    """Lets virtual time run `factor` times as fast as `monotonic` (seconds), in a thread."""

    def __init__(
        self, face: ApiServer, *, monotonic: Callable[[], float], factor: int = 10
    ) -> None:
        self._face = face
        self._monotonic = monotonic
        self._factor = factor
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="virtual-clock", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; raises its error if it failed."""
        self._stopping.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        cluster = self._face.cluster
        with self._face.lock:
            start = cluster.now()
        begun = self._monotonic()
        while not self._stopping.wait(TICK):
            target = start + int((self._monotonic() - begun) * self._factor)
            try:
                with self._face.lock:
                    if target > cluster.now():
                        cluster.advance(target - cluster.now())
            except Exception as failure:  # noqa: BLE001 - a thread hands its failure to `stop`
                self.failure = failure
                return
