"""The outlook of maintenance windows: when the next one opens, and which will not do their work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from gitbot.calendar import format_duration
from gitbot.execution.executor_types import Approved
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.intents import FreezeWindowSpec
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.plan import Move
from gitbot.model.text.instants import FOREVER
from gitbot.reports import starts_of
from gitbot.workflows.ask.next_openings import NextOpening, needs_nothing, next_openings
from gitbot.workflows.core.revision_engine import RevisionEngine

NEAR = 86_400  # seconds before its moves begin in which a drain should be merged


@dataclass(frozen=True, slots=True, kw_only=True)
class NearWindow:
    """A window that opens within a day. `request` is its drain, "" if it empties no node."""

    name: str
    start: int  # seconds UTC
    request: str = ""

    @property
    def since(self) -> int:
        """Seconds UTC from which on it is near."""
        return self.start - NEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOutlook:
    """`next_start` is when the window that is open or comes next starts (seconds UTC; 0: none).

    `near` are windows that open within a day, but for those that have nothing to move. `unmerged`
    are drains that begin within a day and that nobody has approved. `late` are approved requests
    whose remaining moves need more time than is left, or have expired before the end.
    """

    next_start: int = 0
    near: tuple[NearWindow, ...] = ()
    unmerged: tuple[RequestId, ...] = ()
    late: tuple[RequestId, ...] = ()


def window_outlook(
    base: RevisionEngine,
    ledger: Ledger,
    approved: tuple[Approved, ...],
    snapshot: ClusterSnapshot,
    *,
    now: int,
) -> WindowOutlook:
    records = fold_requests(ledger, base.revision.cluster)
    openings = [
        item
        for item in next_openings(base, records, approved, now=now)
        if not isinstance(item.intent.spec, FreezeWindowSpec)
    ]
    return WindowOutlook(
        next_start=min((item.open.start for item in openings), default=0),
        near=tuple(_near(base, openings, snapshot, now)),
        unmerged=tuple(unmerged(base, openings, snapshot, now)),
        late=tuple(sorted(late_requests(records, approved, now))),
    )


def _near(
    base: RevisionEngine, openings: Iterable[NextOpening], snapshot: ClusterSnapshot, now: int
) -> Iterator[NearWindow]:
    for item in openings:
        start = item.open.start
        if now < start <= now + NEAR and not needs_nothing(base, item, snapshot, now=now):
            request = "" if item.request is None else str(item.request)
            yield NearWindow(name=item.intent.ref.name, start=start, request=request)


def unmerged(
    base: RevisionEngine, openings: Iterable[NextOpening], snapshot: ClusterSnapshot, now: int
) -> Iterator[RequestId]:
    """The drains that begin within a day and that nobody has approved."""
    for item in openings:
        if not isinstance(item.request, DrainId) or item.state:
            continue
        # while an opening that has ended is still open, `item` is the one after it
        opening = base.opening(item.intent, now=now, occurrence=item.request.occurrence.id)
        if opening is None:
            continue
        is_near = min(opening.allowed.start, item.open.start) - now <= NEAR
        if is_near and not needs_nothing(base, item, snapshot, now=now):
            yield item.request


def late_requests(
    records: Mapping[RequestId, RequestRecord], approved: tuple[Approved, ...], now: int
) -> Mapping[RequestId, str]:
    """The approved requests that will not end in their time, and why, in words."""
    found: dict[RequestId, str] = {}
    for item in approved:
        record = records.get(item.id)
        known = record.moves if record is not None else {}
        ends = max((span.end for span in item.terms.allowed), default=FOREVER)
        if item.terms.void or ends >= FOREVER or (record is not None and record.cancelled):
            continue
        has = sum(max(0, span.end - max(span.start, now)) for span in item.terms.allowed)
        if has and any(move.state is MoveState.EXPIRED for move in known.values()):
            found[item.id] = "some of its moves have expired"
        elif (needed := _needed(item, known, now)) > has:
            time = f"{format_duration(needed)}, and it has {format_duration(has)} left"
            found[item.id] = f"the moves that are left need {time}"
    return found


def _needed(item: Approved, known: Mapping[int, MoveRecord], now: int) -> int:
    """Seconds from the first to the last of the moves that are left, as the plan spaced them."""
    begins, ends = list[int](), list[int]()
    for move in _left(item, known):
        start, record = _start(item, move), known.get(move.id)
        ran = now - record.created_at if record is not None and record.created_at else 0
        begins.append(start + min(ran, move.estimated_seconds))
        ends.append(start + move.estimated_seconds)
    return max(ends, default=0) - min(begins, default=0)


def _left(item: Approved, known: Mapping[int, MoveRecord]) -> list[Move]:
    """The moves that have to end in time. With `finish`, that is the first of each group."""
    final = {number for number, record in known.items() if record.final}
    left = [move for move in item.moves if move.id not in final]
    if not item.terms.finish:
        return left
    digest = item.approval.digest
    begun = {each.group for each in known.values() if each.effects and each.digest == digest}
    groups = grouped((move.group, move) for move in left if move.group not in begun)
    return [min(moves, key=partial(_start, item)) for moves in groups.values()]


def _start(item: Approved, move: Move) -> int:
    return move.starts if item.plan is None else starts_of(item.plan, move)
