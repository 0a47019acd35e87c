"""Every call of every process: it takes time, may go wrong as the schedule says, and is counted."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from gitbot.errors import ClusterError, ClusterRefused, GitbotError, NotSent, OutcomeUnknown
from gitbot.ports.cluster import Gate, no_gate
from tests.torture.loop import Killed, Loop
from tests.torture.schedule import Deed, Fault, Schedule

T = TypeVar("T")
GIVES_UP = 40_000  # milliseconds until the client closes a connection that does not answer
FOREVER = 10**12
NONE = Fault(call="", number=0, how="")
LIES = frozenset({"old", "empty", "part"})
UNHEARD = frozenset({"busy", "lost", "error 500", "late", "crash sent"})
"""Answers that the server gives without having done it, or that it never gives."""


@dataclass(eq=False)
class Wire:
    """Counts calls and moments, and tells which fault or deed is due."""

    loop: Loop
    schedule: Schedule
    do: Callable[[Deed], None] = lambda _: None
    hits: set[tuple[str, str]] = field(default_factory=set)
    calm: bool = False  # no fault any more
    trace: list[str] | None = None
    calls: dict[str, int] = field(default_factory=dict)  # only of kinds that may go wrong
    moments: dict[str, int] = field(default_factory=dict)  # only of kinds that deeds wait for
    _faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    _deeds: dict[tuple[str, int], list[Deed]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._faults = {(item.call, item.number): item for item in self.schedule.faults}
        self.calls = dict.fromkeys((item.call for item in self.schedule.faults), 0)
        for deed in self.schedule.deeds:
            if deed.moment:
                self.moments[deed.moment] = 0
                self._deeds.setdefault((deed.moment, deed.number), []).append(deed)

    def fault(self, call: str) -> Fault:
        if self.calm or call not in self.calls:
            return NONE
        self.calls[call] += 1
        return self._faults.get((call, self.calls[call]), NONE)

    def moment(self, what: str) -> None:
        """Something has come to a point at which a deed may be due."""
        if self.calm or what not in self.moments:
            return
        self.moments[what] += 1
        for deed in self._deeds.get((what, self.moments[what]), ()):
            self.do(deed)

    def say(self, text: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.loop.now / 1000:9.3f} {text}")


@dataclass(eq=False)
class Line:
    """The calls of one process."""

    wire: Wire
    who: str
    chance: random.Random

    def __post_init__(self) -> None:
        self._loop, self._uneven = self.wire.loop, self.wire.schedule.uneven
        self._any = self.chance.random

    def _wait(self, milliseconds: int) -> None:
        loop = self._loop
        loop.wait(loop.now + milliseconds)

    def _takes(self) -> int:
        return int(self._any() ** 4 * 2000) if self._uneven else 10

    def enter(self, call: str) -> Fault:
        """A call begins; what is to go wrong with it."""
        wire = self.wire
        fault = wire.fault(call) if call in wire.calls else NONE
        if call in wire.moments:
            wire.moment(call)
        if fault is NONE:
            return fault
        if fault.how == "crash before":
            self.strikes(fault)
            raise Killed
        if fault.how == "pause before":
            self.strikes(fault)
            self._wait(1000 * fault.seconds)
        return fault

    def strikes(self, fault: Fault) -> None:
        """The fault happens now. One whose call takes another end before does not count."""
        self.wire.hits.add((fault.call, fault.how))
        self.wire.say(f"{self.who} {fault.call}: FAULT {fault.how}")

    def read(
        self, call: str, answer: Callable[[str], T], error: type[GitbotError] = ClusterError
    ) -> T:
        """A read; `answer` gets "old", "empty" or "part" if it shall not be the truth."""
        fault = self.enter(call)
        self._wait(self._takes())
        if fault is NONE:
            return answer("")
        how = fault.how
        if how == "error":
            self.strikes(fault)
            raise error("the connection was reset")
        found = answer(how)
        if how not in LIES or found != answer(""):
            self.strikes(fault)
        if how == "slow":
            self._wait(1000 * fault.seconds)
        elif how == "crash done":
            raise Killed
        elif how == "pause after":
            self._wait(1000 * fault.seconds)
        return found

    def write(
        self,
        call: str,
        effect: Callable[[str], T],
        *,
        gate: Gate = no_gate,
        sent: Callable[[], object] = lambda: None,
    ) -> T:
        """A write to the API server: `effect` happens when the request arrives, or never."""
        fault = self.enter(call)
        how, seconds = fault.how, 1000 * fault.seconds
        self._wait(self._takes() // 4)
        if how == "unsent":
            self.strikes(fault)
            raise NotSent("connection refused")
        if reason := gate():
            raise NotSent(reason)
        sent()
        self.wire.moment("sent")
        if how in UNHEARD or how.startswith("refused"):
            self.strikes(fault)
        if how.startswith("refused"):
            self._wait(self._takes())
            code = int(how.removeprefix("refused "))
            raise ClusterRefused(f"the server says {code}", code=code)
        if how == "busy":
            raise ClusterError("the API server is busy")
        if how in ("lost", "error 500"):
            self._wait(GIVES_UP if how == "lost" else 0)
            raise OutcomeUnknown("the answer was lost")
        if how in ("late", "crash sent"):
            self._later(effect, seconds)
            if how == "crash sent":
                raise Killed
            self._wait(min(GIVES_UP, max(1, seconds // 2)))
            raise OutcomeUnknown("the answer was lost")
        self._wait(self._takes() // 2)
        stored = effect(how)
        self.wire.moment("stored")
        if fault is not NONE and how != "pause before":
            self.strikes(fault)
        return self._answered(stored, how, seconds)

    def _answered(self, stored: T, how: str, seconds: int) -> T:
        if how == "crash done":
            raise Killed
        if how in ("answer lost", "done 500"):
            raise OutcomeUnknown("the answer was lost")
        if how in ("slow", "pause after"):
            self._wait(min(seconds, GIVES_UP - 1000) if how == "slow" else seconds)
        self.wire.moment("answered")
        return stored

    def _later(self, effect: Callable[[str], T], milliseconds: int) -> None:
        loop = self.wire.loop

        def arrives() -> None:
            try:
                effect("")
            except ClusterRefused as refused:
                self.wire.say(f"{self.who}: a late request is refused: {refused}")

        loop.at(loop.now + milliseconds, arrives)
