"""The state of every request and of each of its moves, folded from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, assert_never, cast, get_args

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import (
    FINAL_STATES,
    STARTED_STATES,
    Claim,
    ForeignMove,
    LedgerEvent,
    MoveApproved,
    MoveChanged,
    MoveEvent,
    MoveState,
    RequestCancelled,
    RequestEvent,
)
from gitbot.model.ledger.ledger import Ledger, request_file
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.struct import FrozenStruct
from gitbot.model.struct import field as value_field

V = TypeVar("V")


class RequestState(StrEnum):
    """State of a request, derived from its moves."""

    APPROVED = "approved"
    HELD = "held"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    OBSOLETE = "obsolete"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class MoveRecord(FrozenStruct, frozen=True, kw_only=True, gc=False):
    """The last known state of one move. Times in seconds UTC; 0 means not yet."""

    request: RequestId
    number: int
    vm: NamespacedName
    vm_uid: str
    state: MoveState
    source: str = ""
    to: str = ""
    landed: str = ""
    attempt: int = 0
    attempts: int = 1
    digest: str = ""
    group: str = ""
    reason: str = ""
    outcome: str = ""
    migration: str = ""
    migration_uid: str = ""
    intended_at: int = 0
    created_at: int = 0
    changed_at: int = 0
    pull_request: int = 0
    effects: tuple[str, ...] = ()  # all VMIM names of this move, one for each attempt
    claim: Claim | None = None  # the newest

    @property
    def in_flight(self) -> bool:
        """Whether an unfinished VMIM of the move may exist."""
        return self.state in STARTED_STATES

    @property
    def runs(self) -> bool:
        """Whether gitbot has seen its VMIM, which had not ended."""
        return self.in_flight and self.state is not MoveState.INTENDED

    @property
    def final(self) -> bool:
        if self.state is MoveState.FAILED:
            return self.attempt >= self.attempts
        return self.state in FINAL_STATES

    def event(self, cluster: str, now: int, state: MoveState, **more: Any) -> MoveChanged:
        return MoveChanged(
            file=request_file(cluster, self.request),
            time=now,
            cluster=cluster,
            state=state,
            request=self.request,
            vm=str(self.vm),
            vm_uid=self.vm_uid,
            move=self.number,
            source=self.source,
            to=self.to,
            pull_request=self.pull_request,
            digest=self.digest,
            **more,
        )


class RequestRecord(FrozenStruct, frozen=True, kw_only=True):
    """One request with all its moves, over all plans that were approved for it."""

    id: RequestId
    moves: Mapping[int, MoveRecord] = value_field(default_factory=dict)
    cancelled: str = ""
    cancelled_at: int | None = None

    @property
    def finished(self) -> bool:
        """Whether every move is final: the request does not run again by itself."""
        if not self.moves:
            return bool(self.cancelled)
        return all(move.final for move in self.moves.values())

    def has_moves_to_come(self, node: str) -> bool:
        """Whether a move from or to the node has not ended."""
        return any(node in (move.source, move.to) for move in self.moves.values() if not move.final)

    @property
    def spent(self) -> bool:
        """Whether the request is finished for good.

        A request that was withdrawn before it started (a person edited its intent) is not: it may
        be approved again.
        """
        began = any(move.effects for move in self.moves.values())
        return self.finished and (
            began or bool(self.cancelled) or self.state is not RequestState.WITHDRAWN
        )

    @property
    def state(self) -> RequestState:
        if self.cancelled and not self.finished:
            return RequestState.CANCELLING
        return derive_request_state(tuple(self.moves.values()))

    @property
    def outcome(self) -> str:
        """Its state in one word for people: `cancelled` only if the cancellation was in time."""
        in_time = self.finished and self.state is RequestState.WITHDRAWN
        return "cancelled" if self.cancelled and in_time else str(self.state)

    @property
    def landed(self) -> Mapping[NamespacedName, str]:
        """The node on which each VM landed that it moved."""
        moves = sorted(self.moves.values(), key=lambda move: move.number)
        return {
            move.vm: move.landed or move.to for move in moves if move.state is MoveState.SUCCEEDED
        }

    @property
    def changed_at(self) -> int:
        """When it was cancelled, or one of its moves last changed, in seconds UTC; 0 for never."""
        return max((self.cancelled_at or 0, *(move.changed_at for move in self.moves.values())))

    @property
    def highest_move(self) -> int:
        return max(self.moves, default=0)


def derive_request_state(moves: tuple[MoveRecord, ...]) -> RequestState:
    """State of a request from its moves: partial if it ended half-way.

    Moves that a newer plan replaced do not count. If a later plan tried a VM again, its last move
    counts.
    """
    counted = [move for move in moves if move.outcome != "superseded"] or list(moves)
    open_moves = [move for move in counted if not move.final]
    if open_moves:
        if any(move.in_flight for move in open_moves):
            return RequestState.RUNNING
        if all(move.state is MoveState.HELD for move in open_moves):
            return RequestState.HELD
        done = any(move.state is MoveState.SUCCEEDED for move in counted)
        return RequestState.RUNNING if done else RequestState.APPROVED
    last = {move.vm: move.state for move in sorted(counted, key=lambda move: move.number)}
    states = set(last.values())
    if not states:
        return RequestState.WITHDRAWN
    if states <= {MoveState.SUCCEEDED, MoveState.OBSOLETE}:
        done = MoveState.SUCCEEDED in states
        return RequestState.SUCCEEDED if done else RequestState.OBSOLETE
    if MoveState.SUCCEEDED in states:
        return RequestState.PARTIAL
    for state in (MoveState.FAILED, MoveState.EXPIRED):
        if state in states:
            return RequestState(state.value)
    return RequestState.WITHDRAWN


def fold_requests(ledger: Ledger, cluster: str) -> Mapping[RequestId, RequestRecord]:
    return _fold(ledger.events, cluster)


_Answer = tuple[tuple[LedgerEvent, ...], str, Mapping[RequestId, RequestRecord]]


class _Fold:
    """Cached folds: a pass folds the same events many times, and the list only grows at its end."""

    def __init__(self) -> None:
        self._last = _Folded()
        self._known: _Answer = ((), "", {})

    def __call__(
        self, events: tuple[LedgerEvent, ...], cluster: str
    ) -> Mapping[RequestId, RequestRecord]:
        asked, name, answer = self._known
        if events is not asked or name != cluster:
            answer = MappingProxyType(self._folded(events, cluster))
            self._known = (events, cluster, answer)
        return answer

    def _folded(
        self, events: tuple[LedgerEvent, ...], cluster: str
    ) -> dict[RequestId, RequestRecord]:
        last = self._last
        if last.cluster != cluster or events[: len(last.events)] != last.events:
            last = _Folded(cluster=cluster)
        end = len(events)
        while end and not events[end - 1].seq:
            end -= 1
        if end > len(last.events):
            last = self._last = last.grown(events[:end])
        return last.grown(events).records()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folded:
    cluster: str = ""
    events: tuple[LedgerEvent, ...] = ()
    moves: Mapping[RequestId, Mapping[int, MoveRecord]] = field(default_factory=dict)
    cancelled: Mapping[RequestId, RequestCancelled] = field(default_factory=dict)

    def grown(self, events: tuple[LedgerEvent, ...]) -> _Folded:
        if len(events) == len(self.events):
            return self
        moves = {request: dict(known) for request, known in self.moves.items()}
        cancelled = dict(self.cancelled)
        new: dict[tuple[RequestId, int], list[MoveEvent]] = {}
        for event in _requests_in(events[len(self.events) :], f"requests/{self.cluster}/"):
            match event:
                case MoveChanged() | MoveApproved():
                    new.setdefault((event.request, event.move), []).append(event)
                case RequestCancelled():
                    moves.setdefault(event.request, {})
                    cancelled[event.request] = event
                case ForeignMove():
                    continue
                case _:
                    assert_never(event)
        for (request, number), told in new.items():
            known = moves.setdefault(request, {})
            known[number] = fold_moves(known.get(number), told)
        return _Folded(cluster=self.cluster, events=events, moves=moves, cancelled=cancelled)

    def records(self) -> dict[RequestId, RequestRecord]:
        return {
            request: RequestRecord(
                id=request,
                moves=known,
                cancelled=(ended.reason or "cancelled") if ended is not None else "",
                cancelled_at=ended.time if ended is not None else None,
            )
            for request, known in sorted(self.moves.items())
            for ended in (self.cancelled.get(request),)
        }


_fold = _Fold()
_REQUEST_EVENTS = frozenset(get_args(RequestEvent))  # isinstance takes five times as long


def _requests_in(events: Iterable[LedgerEvent], folder: str) -> Iterator[RequestEvent]:
    for event in events:
        if type(event) in _REQUEST_EVENTS and event.file.startswith(folder):
            yield cast("RequestEvent", event)


_UNSENT = (MoveState.HELD, MoveState.WAITING)
"""An attempt that was announced and never sent is not used up: the next one has the same name."""


def fold_move(record: MoveRecord | None, event: MoveEvent) -> MoveRecord:
    """The record after one more line. After a final state, no line changes it."""
    return fold_moves(record, (event,))


def fold_moves(record: MoveRecord | None, events: Sequence[MoveEvent]) -> MoveRecord:
    """The record after some more lines, at least one. After a final state, no line changes it."""
    if record is not None and record.final:
        return record
    known = record or _before(events[0])
    state, attempt, attempts, group = known.state, known.attempt, known.attempts, known.group
    landed, migration_uid, effects = known.landed, known.migration_uid, known.effects
    intended_at, created_at, claim = known.intended_at, known.created_at, known.claim
    at = 0
    for event in events:
        at += 1
        unsent = state is MoveState.INTENDED and event.state in _UNSENT
        attempt = attempt - 1 if unsent else event.attempt or attempt
        state = event.state
        if type(event) is MoveApproved:
            attempts, group = event.terms.attempts, event.terms.group
        elif type(event) is MoveChanged:
            claim = event.claim or claim
        if state is MoveState.INTENDED:
            landed, migration_uid, intended_at, created_at = "", "", event.time, 0
            if event.migration and event.migration not in effects:
                effects = (*effects, event.migration)
        elif state is MoveState.CREATED:
            created_at = created_at or event.time
        landed = event.landed or landed
        migration_uid = event.migration_uid or migration_uid
        if state in FINAL_STATES and (state is not MoveState.FAILED or attempt >= attempts):
            break
    told = events[:at]
    return known.replace(
        state=state,
        source=event.source or _latest("source", told, known.source),
        to=event.to or _latest("to", told, known.to),
        landed=landed,
        attempt=attempt,
        attempts=attempts,
        digest=event.digest or _latest("digest", told, known.digest),
        group=group,
        reason=event.reason,
        outcome=event.outcome,
        migration=event.migration or _latest("migration", told, known.migration),
        migration_uid=migration_uid,
        intended_at=intended_at,
        created_at=created_at,
        changed_at=event.time,
        pull_request=event.pull_request or _latest("pull_request", told, known.pull_request),
        effects=effects,
        claim=claim,
    )


def _before(event: MoveEvent) -> MoveRecord:
    """The record of a move before its first line."""
    return MoveRecord(
        request=event.request,
        number=event.move,
        vm=NamespacedName.parse(event.vm),
        vm_uid=event.vm_uid,
        state=event.state,
    )


def _latest(name: str, events: Sequence[MoveEvent], before: V) -> V:
    """What the last line with the field says, or what was known before."""
    return next((value for event in reversed(events) if (value := getattr(event, name))), before)


def highest_move(records: Mapping[RequestId, RequestRecord], request: RequestId) -> int:
    """The highest move number of a request; of all healings of a rule for a planned healing."""
    numbers = [
        record.highest_move for name, record in records.items() if request in (name, name.planned)
    ]
    return max(numbers, default=0)


def last_moved(records: Iterable[RequestRecord]) -> Mapping[NamespacedName, int]:
    """When gitbot last moved each VM, in seconds UTC."""
    moved: dict[NamespacedName, int] = {}
    for record in records:
        for move in record.moves.values():
            if move.state is MoveState.SUCCEEDED:
                moved[move.vm] = max(moved.get(move.vm, 0), move.changed_at)
    return moved
