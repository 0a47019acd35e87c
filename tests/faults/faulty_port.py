"""Faults at the cluster port: lost answers, server errors, stale reads, crashes. Reproducible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from gitbot.errors import ClusterError, ClusterForbidden, OutcomeUnknown
from gitbot.model.text.canonical import short_digest
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.timely import TimelyPort

T = TypeVar("T")
READS = ("get", "list")


class Effect(StrEnum):
    """What goes wrong with one request."""

    LOST_ANSWER = "lost-answer"  # it was carried out, the answer never came
    LOST_REQUEST = "lost-request"  # it was not carried out, and nobody can tell
    SERVER_ERROR = "server-error"  # 500 before anything happened
    FORBIDDEN = "forbidden"
    STALE = "stale"  # a read gives the answer of the same read before
    CRASH_BEFORE = "crash-before"  # the program dies before the request
    CRASH_AFTER = "crash-after"  # the program dies after it was carried out


class Crash(BaseException):
    """The program dies here: no `except Exception` may live on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault: the `count`-th request (from 1) of that verb whose object contains `what`.

    Verbs: get, list, create, delete, patch. `what` is matched in texts such as
    `VirtualMachineInstanceMigration app/move`, `snapshot`, `Node worker1`.
    """

    effect: Effect
    verb: str
    count: int = 1
    what: str = ""


Script = Callable[[int, str, str], Effect | None]
"""Gets the number of the request (from 1), verb and object; None lets it pass."""


def scripted(faults: Sequence[Fault]) -> Script:
    """Faults at named requests."""
    seen = dict.fromkeys(faults, 0)

    def script(_: int, verb: str, what: str) -> Effect | None:
        hit: Effect | None = None
        for fault in faults:
            if fault.verb == verb and fault.what in what:
                seen[fault] += 1
                if seen[fault] == fault.count and hit is None:
                    hit = fault.effect
        return hit

    return script


def seeded(seed: int, *, percent: int, effects: Sequence[Effect]) -> Script:
    """Faults at `percent` of all requests, drawn by seed; reads are spared lost answers."""

    def script(number: int, verb: str, what: str) -> Effect | None:
        drawn = int(short_digest(f"fault/{seed}/{number}/{verb}/{what}", 12), 16)
        if drawn % 100 >= percent or not effects:
            return None
        effect = effects[drawn // 100 % len(effects)]
        unfit = effect is Effect.STALE if verb not in READS else effect is Effect.LOST_ANSWER
        return None if unfit else effect

    return script


class FaultyPort(TimelyPort):
    """The simulated port with faults. `log` holds every request and what happened to it."""

    def __init__(self, cluster: SimulatedCluster, script: Script) -> None:
        super().__init__(cluster)
        self._script = script
        self._answers: dict[tuple[str, str], Any] = {}
        self.log: list[tuple[str, str, str]] = []

    def call(self, verb: str, what: str, action: Callable[[], T]) -> T:
        """Make one request, or let it go wrong."""
        effect = self._script(len(self.log) + 1, verb, what)
        self.log.append((verb, what, effect.value if effect else "ok"))
        key = (verb, what)
        match effect:
            case Effect.LOST_REQUEST:
                raise _unanswered(verb, what)
            case Effect.SERVER_ERROR:
                raise ClusterError(f"the API server answered 500 to {verb} {what}")
            case Effect.FORBIDDEN:
                raise ClusterForbidden(f"no right to {verb} {what}", hint=f"grant {verb}")
            case Effect.CRASH_BEFORE:
                raise Crash(f"before {verb} {what}")
            case Effect.STALE if key in self._answers:
                stale: T = self._answers[key]
                return stale
        answer = action()
        if verb in READS:
            self._answers[key] = answer
        if effect is Effect.LOST_ANSWER:
            raise _unanswered(verb, what)
        if effect is Effect.CRASH_AFTER:
            raise Crash(f"after {verb} {what}")
        return answer


def _unanswered(verb: str, what: str) -> ClusterError:
    message = f"{verb} {what} was sent and no answer came"
    if verb in READS:
        return ClusterError(message, hint="read again")
    return OutcomeUnknown(message, hint="read the object before anything else")
