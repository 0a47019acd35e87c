"""What became of every request and of each of its moves, folded from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitbot.model.ledger import FINAL_STATES, Entry, Ledger, MoveState
from gitbot.model.names import NamespacedName

CANCELLED = "cancelled"
STARTED_STATES = frozenset({MoveState.INTENDED, MoveState.CREATED, MoveState.RUNNING})


class RequestState(StrEnum):
    """State of a request, derived from its moves."""

    APPROVED = "approved"
    HELD = "held"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    OBSOLETE = "obsolete"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRecord:
    """The last known state of one move. Times in seconds UTC; 0 means not yet."""

    request: str
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
    effects: tuple[str, ...] = ()  # VMIM names that this move ever had

    @property
    def under_way(self) -> bool:
        """Whether a VMIM of it may exist unfinished."""
        return self.state in STARTED_STATES

    @property
    def final(self) -> bool:
        """Whether nothing more will happen to it."""
        if self.state is MoveState.FAILED:
            return self.attempt >= self.attempts
        return self.state in FINAL_STATES


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request with all its moves, over all plans that were approved for it."""

    id: str
    moves: Mapping[int, MoveRecord] = field(default_factory=dict)
    cancelled: str = ""

    @property
    def finished(self) -> bool:
        """Whether every move is final: the request never fires again by itself."""
        if not self.moves:
            return bool(self.cancelled)
        return all(move.final for move in self.moves.values())

    @property
    def spent(self) -> bool:
        """Whether it is finished once, for ever.

        A request that was withdrawn before anything of it began (its intent was edited) is not.
        """
        began = any(move.effects for move in self.moves.values())
        return self.finished and (
            began or bool(self.cancelled) or self.state is not RequestState.WITHDRAWN
        )

    @property
    def state(self) -> RequestState:
        """The derived state."""
        return derive_request_state(tuple(self.moves.values()))

    @property
    def highest_move(self) -> int:
        """The highest move number, 0 where there is none."""
        return max(self.moves, default=0)


def derive_request_state(moves: tuple[MoveRecord, ...]) -> RequestState:
    """State of a request from its moves: partial where it ended half-way.

    Moves that were withdrawn because a newer plan took their place do not count; of a VM that was
    tried again by a later plan the last move counts.
    """
    counted = [move for move in moves if move.outcome != "superseded"] or list(moves)
    open_moves = [move for move in counted if not move.final]
    if open_moves:
        if any(move.under_way for move in open_moves):
            return RequestState.RUNNING
        if all(move.state is MoveState.HELD for move in open_moves):
            return RequestState.HELD
        done = any(move.state is MoveState.SUCCEEDED for move in counted)
        return RequestState.RUNNING if done else RequestState.APPROVED
    last = {move.vm: move.state for move in sorted(counted, key=lambda move: move.number)}
    states = set(last.values())
    if not states:
        return RequestState.WITHDRAWN
    good = {MoveState.SUCCEEDED, MoveState.OBSOLETE}
    if states <= good:
        done = MoveState.SUCCEEDED in states
        return RequestState.SUCCEEDED if done else RequestState.OBSOLETE
    if MoveState.SUCCEEDED in states:
        return RequestState.PARTIAL
    for state in (MoveState.FAILED, MoveState.EXPIRED):
        if state in states:
            return RequestState(state.value)
    return RequestState.WITHDRAWN


def fold_requests(ledger: Ledger, cluster: str) -> Mapping[str, RequestRecord]:
    """Every request of the cluster by ledger id, sorted."""
    moves: dict[str, dict[int, MoveRecord]] = {}
    cancelled: dict[str, str] = {}
    prefix = f"requests/{cluster}/"
    for entry in ledger.entries:
        if not entry.file.startswith(prefix) or entry.state == MoveState.OBSERVED:
            continue
        known = moves.setdefault(entry.request, {})
        if entry.state == CANCELLED:
            cancelled[entry.request] = entry.reason or CANCELLED
        elif entry.move:
            known[entry.move] = _fold_move(known.get(entry.move), entry)
    return {
        request: RequestRecord(id=request, moves=known, cancelled=cancelled.get(request, ""))
        for request, known in sorted(moves.items())
    }


def _fold_move(record: MoveRecord | None, entry: Entry) -> MoveRecord:
    state = MoveState(entry.state)
    if record is None:
        record = MoveRecord(
            request=entry.request,
            number=entry.move,
            vm=NamespacedName.parse(entry.vm),
            vm_uid=entry.vm_uid,
            state=state,
        )
    started = state is MoveState.INTENDED
    effects = record.effects
    if started and entry.migration and entry.migration not in effects:
        effects = (*effects, entry.migration)
    return replace(
        record,
        state=state,
        source=entry.source or record.source,
        to=entry.to or record.to,
        landed=entry.landed or ("" if started else record.landed),
        attempt=entry.attempt or record.attempt,
        attempts=int(entry.data.get("attempts", record.attempts)),
        digest=entry.digest or record.digest,
        group=str(entry.data.get("group", record.group)),
        reason=entry.reason,
        outcome=entry.outcome,
        migration=entry.migration or record.migration,
        migration_uid=entry.migration_uid or ("" if started else record.migration_uid),
        intended_at=entry.time if started else record.intended_at,
        created_at=entry.time if state is MoveState.CREATED else record.created_at,
        changed_at=entry.time,
        pull_request=entry.pull_request or record.pull_request,
        effects=effects,
    )


def highest_move(records: Mapping[str, RequestRecord], request: str) -> int:
    """The highest move number of a request; of all healings of a rule for a planned healing."""
    prefix = f"{request}/" if request.startswith("heal/") else None
    numbers = [
        record.highest_move
        for name, record in records.items()
        if name == request or (prefix is not None and name.startswith(prefix))
    ]
    return max(numbers, default=0)


def ledger_id(planned: str, digest: str) -> str:
    """The ledger id of a planned request: a healing gets 12 hex digits of the approved digest."""
    if planned.startswith("heal/"):
        return f"{planned}/{digest.removeprefix('sha256:')[:12]}"
    return planned


def last_moved(records: Iterable[RequestRecord]) -> Mapping[NamespacedName, int]:
    """When gitbot last moved each VM, in seconds UTC."""
    moved: dict[NamespacedName, int] = {}
    for record in records:
        for move in record.moves.values():
            if move.state is MoveState.SUCCEEDED:
                moved[move.vm] = max(moved.get(move.vm, 0), move.changed_at)
    return moved
