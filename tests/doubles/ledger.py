"""A ledger in memory, with the chain of the real one; a hook lets tests break it."""

import hashlib
from collections.abc import Callable, Mapping

from gitbot.errors import ConflictError
from gitbot.model.ledger.events import KnownEvent, MoveEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.canonical import canonical_json
from gitbot.model.text.instants import format_instant
from gitbot.published.ledger_lines import chain, decode_line, encode_event, line_digest


class MemoryLedgerStore:
    """The LedgerStore port without Git. `before_append` is called with the events to come."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.last: Ledger | None = None  # as last read or written
        self.appends = 0
        self.before_append: Callable[[tuple[KnownEvent, ...]], None] = lambda _: None
        self.after_append: Callable[[tuple[KnownEvent, ...]], None] = lambda _: None

    def read(self) -> Ledger:
        """The whole ledger."""
        self.last = self.ledger
        return self.ledger

    def known(self) -> Ledger:
        """The ledger as last read or written."""
        return self.read() if self.last is None else self.last

    def append(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        """Add events on top of `ledger`; ConflictError where somebody else was first."""
        changed = ledger.plan_changes(plans)
        if not events and not changed:
            return ledger
        self.last = None
        self.before_append(events)
        if ledger.head != self.ledger.head:
            raise ConflictError("somebody else moved gitbot/ledger first", hint="run again")
        linked = chain(ledger.events[-1] if ledger.events else None, events)
        text = b"\n".join(
            [
                ledger.head.encode(),
                *map(encode_event, linked),
                *sorted(filter(None, changed.values())),
            ]
        )
        self.ledger = Ledger(
            events=(*ledger.events, *linked),
            plans=ledger.plans_with(changed),
            head=hashlib.sha256(text).hexdigest()[:40],
        )
        self.appends += 1
        self.last = self.ledger
        self.after_append(events)
        return self.ledger


def moves_of(ledger: Ledger, file: str) -> list[MoveEvent]:
    """What a request's file says of its moves."""
    return [event for event in ledger.of(file) if isinstance(event, MoveEvent)]


def last_move(ledger: Ledger) -> MoveEvent:
    """The newest event, which is about a move."""
    event = ledger.events[-1]
    assert isinstance(event, MoveEvent)
    return event


def of_newer_gitbot(ledger: Ledger, *, file: str, cluster: str, time: int) -> Ledger:
    """The ledger with one more line, whose state no gitbot of today knows."""
    last = ledger.events[-1]
    content = {
        "cluster": cluster,
        "previous": line_digest(encode_event(last)),
        "seq": last.seq + 1,
        "state": "paused",
        "time": format_instant(time),
    }
    event = decode_line(canonical_json(content), file=file, number=1)
    return ledger.replace(events=(*ledger.events, event), head="0" * 40)
