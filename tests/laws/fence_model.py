"""Two executors, a person, one effect, one API server: every state up to a bound.

An abstract model of what docs/exactly-once.md says. One unit of time is the shortest that matters:
a claim is good for one, a request takes at most one, clocks are at most one apart. An executor can
crash between any two steps; requests and answers can be lost, and requests can be late. The last
look at the ledger before a request is left out: it makes gitbot prompt, not safe.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gitbot.execution.claims import Fence

FINAL = "final"
LONG_AGO = -9  # the limit of a claim that was given back
FENCE = Fence(send=1, delivery=1, skew=1)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the executors keep to; each can be left out, to see what it is for."""

    fence: Fence = FENCE
    adopt_at_once: bool = False  # take over without waiting
    end_at_once: bool = False  # a final state without waiting
    gate: bool = True  # no request after the claim's limit
    swap: bool = True  # commits compare the head
    again: bool = False  # a claim is used for a second request
    own_clock: bool = False  # whether a claim is over is judged by the own clock
    theirs_too: bool = False  # the claim of another is given back
    window: int = 3  # until when the effect may be sent, on the sender's clock
    horizon: int = 7
    crashes: int = 2  # and claims that are given back, or not used


class Ledger(NamedTuple):
    """`epoch` and `until` of the last claim; `state` of the move."""

    state: str = ""
    epoch: int = 0
    until: int = 0
    cancelled: bool = False


class Executor(NamedTuple):
    """Where one is in its step. `read` is the ledger it decided on, `due` what it wants to write.

    `old`: somebody wrote since that read. `epoch`, `began` and `until` are of the claim that it
    holds and has not used; epoch 0: none.
    """

    skew: int = 0
    at: str = "idle"
    read: Ledger = Ledger()
    old: bool = False
    due: str = ""
    epoch: int = 0
    began: int = 0
    until: int = 0


class Request(NamedTuple):
    """A create that left; it arrives until then, or never."""

    epoch: int
    until: int


class State(NamedTuple):
    now: int
    ledger: Ledger
    ones: tuple[Executor, Executor]
    wire: tuple[Request, ...]
    there: bool  # the migration stands on the server
    moved: bool  # and the VM shows that it did
    created: int
    crashes: int
    wrong: str = ""


def begin(skews: tuple[int, int]) -> State:
    ones = (Executor(skew=skews[0]), Executor(skew=skews[1]))
    return State(0, Ledger(), ones, (), there=False, moved=False, created=0, crashes=0)


def after(rules: Rules, state: State) -> Iterator[State]:
    """All states that can follow."""
    ledger = state.ledger
    if ledger.state == FINAL and not state.wire and all(one.at == "idle" for one in state.ones):
        return
    if state.now < rules.horizon:
        kept = tuple(item for item in state.wire if item.until > state.now)
        yield state._replace(now=state.now + 1, wire=kept)
    if not ledger.cancelled and ledger.state != FINAL:
        yield _written(state, ledger._replace(cancelled=True))
    for number, item in enumerate(state.wire):
        yield _arrive(state, number, item)
    if state.there:
        yield state._replace(moved=True)
        if ledger.state in ("created", FINAL) or state.moved:
            yield state._replace(there=False)  # collected, or deleted by a person
    for number, one in enumerate(state.ones):
        if one.at != "idle" and state.crashes < rules.crashes:
            lost = _rests(state, number, keeps=False)
            yield lost._replace(crashes=state.crashes + 1)
        yield from _step(rules, state, number, one)


def _arrive(state: State, number: int, item: Request) -> State:
    wire = state.wire[:number] + state.wire[number + 1 :]
    if state.there:
        return state._replace(wire=wire)  # 409
    wrong = ""
    if state.created:
        wrong = "I2: a second migration for one effect"
    elif state.ledger.state == FINAL:
        wrong = "I3: a migration for a finished move"
    elif state.ledger.epoch != item.epoch:
        wrong = "I20: a former claimer creates"
    return state._replace(wire=wire, there=True, created=state.created + 1, wrong=wrong)


def _written(state: State, ledger: Ledger) -> State:
    first, second = (one._replace(old=one.at != "idle") for one in state.ones)
    return state._replace(ledger=ledger, ones=(first, second))


def _rests(state: State, number: int, *, keeps: bool = True) -> State:
    """Back to idle, with the claim if it is still good."""
    one = state.ones[number]
    kept = one if keeps else Executor()
    idle = Executor(skew=one.skew, epoch=kept.epoch)
    return _with(state, number, idle)


def _with(state: State, number: int, one: Executor) -> State:
    ones = (one, state.ones[1]) if number == 0 else (state.ones[0], one)
    return state._replace(ones=ones)


def _step(rules: Rules, state: State, number: int, one: Executor) -> Iterator[State]:
    match one.at:
        case "idle":
            if state.ledger.state != FINAL:
                yield _with(state, number, one._replace(at="read", read=state.ledger, old=False))
            yield from _give_back(rules, state, number, one)
        case "read":
            due = _decide(rules, state, one)
            goes = _with(state, number, one._replace(at="decided", due=due))
            yield goes if due else _rests(state, number)
        case "decided":
            yield _commit(rules, state, number, one)
        case "claimed":
            yield from _send(rules, state, number, one)


def _decide(rules: Rules, state: State, one: Executor) -> str:
    """What this look at the server makes of the ledger that was read; "" for nothing."""
    read = one.read
    if read.state == "created":
        return "" if state.there else FINAL
    if read.state == "intended":
        if state.there:
            return "created"
        mine = one.epoch == read.epoch
        clock = state.now + one.skew if rules.own_clock else state.now
        free = mine or clock >= rules.fence.settles_at(read.until)
        over = state.now + one.skew >= rules.window or read.cancelled or state.moved
        if over:
            return FINAL if free or rules.end_at_once else ""
        return "claim" if free or rules.adopt_at_once else ""
    over = state.now + one.skew >= rules.window or read.cancelled or state.moved
    return FINAL if over else "claim"


def _commit(rules: Rules, state: State, number: int, one: Executor) -> State:
    ledger = state.ledger
    if rules.swap and one.old:
        return _rests(state, number)
    if one.due != "claim":
        return _rests(_written(state, ledger._replace(state=one.due)), number, keeps=False)
    clock = state.now + one.skew
    until = min(clock + rules.fence.send, rules.window)
    epoch = one.read.epoch + 1
    written = _written(state, ledger._replace(state="intended", epoch=epoch, until=until))
    holds = Executor(skew=one.skew, at="claimed", epoch=epoch, began=state.now, until=until)
    return _with(written, number, holds)


def _give_back(rules: Rules, state: State, number: int, one: Executor) -> Iterator[State]:
    """A run that ends writes that it sent nothing under its claim, and holds it no more."""
    ledger, mine = state.ledger, one.epoch == state.ledger.epoch
    if ledger.state == "intended" and (mine or rules.theirs_too) and state.crashes < rules.crashes:
        given = _written(state, ledger._replace(until=LONG_AGO))
        yield _rests(given, number, keeps=False)._replace(crashes=state.crashes + 1)


def _send(rules: Rules, state: State, number: int, one: Executor) -> Iterator[State]:
    """The gate, and the request in one: a pause between the two is part of the delivery.

    Nothing is sent, too, if a last look forbids it; a request that the server refused is the same.
    """
    if state.crashes < rules.crashes:
        yield _rests(state, number)._replace(crashes=state.crashes + 1)
    counted = state.now - one.began < rules.fence.send
    if rules.gate and not (counted and state.now + one.skew < one.until):
        yield _rests(state, number)
        return
    item = Request(one.epoch, state.now + 1)
    late = state.now + one.skew >= rules.window
    wrong = "I5: sent outside the allowed time" if late else ""
    left = state._replace(wire=tuple(sorted((*state.wire, item))), wrong=wrong)
    yield _rests(left, number, keeps=rules.again)
    yield _rests(state, number, keeps=False)  # lost on its way


def explore(rules: Rules, *, skews: Iterable[tuple[int, int]]) -> tuple[int, str]:
    """How many states there are, and the first wrong one with the way to it; "" if none is."""
    seen: dict[State, State | None] = {}
    for skews_of in skews:
        start = begin(skews_of)
        seen[start] = None
        todo = [start]
        for state in todo:
            for follower in after(rules, state):
                if follower in seen:
                    continue
                seen[follower] = state
                if follower.wrong:
                    return len(seen), _way(seen, follower)
                todo.append(follower)
    return len(seen), ""


def _way(seen: dict[State, State | None], state: State | None) -> str:
    lines: list[str] = []
    wrong = state.wrong if state is not None else ""
    while state is not None:
        lines.append(str(state))
        state = seen[state]
    return "\n".join([wrong, *reversed(lines)])
