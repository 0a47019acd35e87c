"""Virtual time and the processes that share it: one runs at any instant, the rest wait.

A process is a thread with a baton. Whoever waits hands the baton to what is due next, so that the
order of everything follows from the schedule alone.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field


class Killed(BaseException):
    """The process dies here: nothing may catch it."""


class Over(BaseException):
    """The run has ended."""


class _Thread:
    """Threads are kept: making one for each process would cost more than what it does."""

    idle: list[_Thread] = []  # noqa: RUF012 - one list for all, on purpose

    def __init__(self) -> None:
        self.job: Callable[[], None] = lambda: None
        self.wanted = threading.Lock()
        self.wanted.acquire()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            self.wanted.acquire()
            self.job()

    @classmethod
    def run(cls, job: Callable[[], None]) -> None:
        thread = cls.idle.pop() if cls.idle else cls()

        def whole() -> None:
            try:
                job()
            finally:
                cls.idle.append(thread)

        thread.job = whole
        thread.wanted.release()


@dataclass(eq=False)
class Process:
    """One process of the world; `ends` is set to make it end at its next wait."""

    name: str
    baton: threading.Lock = field(default_factory=threading.Lock)
    ends: bool = False
    done: bool = False

    def __post_init__(self) -> None:
        self.baton.acquire()


@dataclass(eq=False)
class Loop:
    """Time in milliseconds. `trouble` is what a process raised that is neither Killed nor Over."""

    now: int = 0
    trouble: BaseException | None = None
    _count: int = 0
    _due: list[tuple[int, int, Process | Callable[[], None]]] = field(default_factory=list)
    _processes: list[Process] = field(default_factory=list)
    _main: Process = field(default_factory=lambda: Process(name="main"))
    _current: Process | None = None

    def at(self, time: int, what: Process | Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._due, (time, self._count, what))

    def start(self, name: str, work: Callable[[], None], *, at: int) -> Process:
        """A process that begins at a time."""
        process = Process(name=name)
        self._processes.append(process)

        def whole() -> None:
            process.baton.acquire()
            try:
                if not process.ends:
                    work()
            except (Killed, Over):
                pass
            except BaseException as error:  # noqa: BLE001 - shown with the schedule
                self.trouble = self.trouble or error
            process.done = True
            self._next(None)

        _Thread.run(whole)
        self.at(at, process)
        return process

    def wait(self, until: int) -> None:
        """Let everything happen that is due before or at a time."""
        if not self._due or self._due[0][0] > until:
            self.now = max(self.now, until)
            return
        me = self._current
        assert me is not None, "only a process waits"
        self.at(until, me)
        self._next(me)
        if me.ends:
            raise Over

    def run(self, until: int) -> None:
        """Called from outside: everything up to a time, or to the first trouble."""
        self._current = self._main
        self.at(until, self._main)
        self._next(self._main)

    def end(self) -> None:
        """End all processes where they wait. What the cluster has under way goes on."""
        kept = [item for item in self._due if not isinstance(item[2], Process)]
        for process in self._processes:
            if not process.done:
                process.ends = True
                self._current = process
                self._due = [(self.now, 0, self._main)]
                process.baton.release()
                self._main.baton.acquire()
        self._processes.clear()
        self._due = kept
        heapq.heapify(self._due)

    def _next(self, me: Process | None) -> None:
        """Do what is due until it is a process's turn; return when it is the caller's again."""
        while True:
            if self.trouble is not None:
                what: Process | Callable[[], None] = self._main
            else:
                time, _, what = heapq.heappop(self._due)
                self.now = max(self.now, time)
            if not isinstance(what, Process):
                try:
                    what()
                except BaseException as error:  # noqa: BLE001 - shown with the schedule
                    self.trouble = self.trouble or error
                continue
            if what.done:
                continue
            self._current = what
            if what is me:
                return
            what.baton.release()
            if me is not None:
                me.baton.acquire()
            return
