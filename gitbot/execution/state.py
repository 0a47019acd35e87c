"""Folds over the ledger: what became of every request, move, node, pull request and concern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gitbot.model.instants import parse_instant
from gitbot.model.ledger import (
    FINAL_STATES,
    HOLD_FILE,
    Entry,
    Ledger,
    MoveState,
    concern_file,
    node_file,
    pull_file,
)
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


class NodeState(StrEnum):
    """Where a node is on its way through a maintenance."""

    WAITING = "waiting"
    DRAINING = "draining"
    READY = "ready"
    RETURNED = "returned"
    CLOSED = "closed"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node of one occurrence; `since` in seconds UTC, `boot_id` from before the drain."""

    node: str
    state: NodeState = NodeState.WAITING
    since: int = 0
    boot_id: str = ""
    reason: str = ""
    cordoned_by_gitbot: bool = False


def fold_nodes(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[str, NodeRecord]:
    """The nodes of one occurrence that have left state waiting, sorted."""
    nodes: dict[str, NodeRecord] = {}
    states = {state.value for state in NodeState}
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        name = str(entry.data.get("node", ""))
        if not name or entry.state not in states:
            continue
        before = nodes.get(name, NodeRecord(node=name))
        nodes[name] = replace(
            before,
            state=NodeState(entry.state),
            since=entry.time,
            boot_id=str(entry.data.get("bootID", before.boot_id)),
            reason=entry.reason,
            cordoned_by_gitbot=bool(entry.data.get("cordoned", before.cordoned_by_gitbot)),
        )
    return dict(sorted(nodes.items()))


def fold_homes(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[NamespacedName, str]:
    """Home of each VM that an occurrence moved: its node at the first move, sorted by VM."""
    homes: dict[NamespacedName, str] = {}
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        if entry.state == "home":
            homes.setdefault(NamespacedName.parse(entry.vm), entry.source)
    return dict(sorted(homes.items()))


def window_as_merged(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[str, Any]:
    """What the nodes file says of the window at the first drain; empty where nothing began."""
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        if entry.state == "window":
            return entry.data
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """What was shown on a pull request: `{head, base, digest, expiresAt}` and when."""

    head: str
    base: str
    digest: str
    expires_at: int
    time: int
    document: str = ""


def fold_pull(ledger: Ledger, number: int, *, cluster: str) -> tuple[PullRecord, ...]:
    """What was shown for one cluster on a pull request, oldest first."""
    return tuple(
        PullRecord(
            head=str(entry.data.get("head", "")),
            base=str(entry.data.get("base", "")),
            digest=entry.digest,
            expires_at=parse_instant(str(entry.data["expiresAt"])),
            time=entry.time,
            document=str(entry.data.get("document", "")),
        )
        for entry in ledger.of(pull_file(number))
        if entry.state == "shown" and entry.cluster == cluster
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernRecord:
    """One concern: since when its observation stands, and what was proposed or refused.

    `closed` holds the digests whose pull requests a person closed without a merge; `commits` the
    heads that gitbot pushed, so that a person's push is recognised; `files` the digests of the
    proposal files that it wrote, so that a person's edit is.
    """

    concern: str
    observation: str = ""
    observed_since: int = 0
    opened: str = ""  # digest of the pull request that is open as far as the ledger knows
    pull_request: int = 0
    opened_at: int = 0
    closed: frozenset[str] = frozenset()
    commits: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def fold_concern(ledger: Ledger, *, cluster: str, concern: str) -> ConcernRecord:
    """What the ledger knows of a concern."""
    record = ConcernRecord(concern=concern)
    for entry in ledger.of(concern_file(cluster, concern)):
        record = _fold_concern(record, entry)
    return record


def _fold_concern(record: ConcernRecord, entry: Entry) -> ConcernRecord:
    match entry.state:
        case "observed":
            return replace(record, observation=entry.digest, observed_since=entry.time)
        case "gone":
            return replace(record, observation="", observed_since=0, opened="")
        case "proposed":
            commits = record.commits | {entry.commit} if entry.commit else record.commits
            files = record.files | {str(entry.data["file"])} if entry.data else record.files
            return replace(record, opened=entry.digest, commits=commits, files=files)
        case "opened":
            return replace(record, pull_request=entry.pull_request, opened_at=entry.time)
        case "closed":
            return replace(record, opened="", closed=record.closed | {entry.digest})
        case "merged" | "withdrawn":
            return replace(record, opened="")
        case _:
            return record


def concerns_of(ledger: Ledger, cluster: str) -> tuple[str, ...]:
    """Names of all concerns that the ledger knows, sorted."""
    prefix = f"concerns/{cluster}/"
    files = {entry.file for entry in ledger.entries if entry.file.startswith(prefix)}
    return tuple(sorted(file.removeprefix(prefix).removesuffix(".jsonl") for file in files))


def stop_flag(ledger: Ledger, cluster: str) -> str:
    """Why everything stands still by the ledger's own stop flag; "" where it does not."""
    reason = ""
    for entry in ledger.of(HOLD_FILE):
        if entry.cluster in ("", cluster):
            reason = (entry.reason or "held") if entry.state == "set" else ""
    return reason


def last_resume(ledger: Ledger, cluster: str) -> int:
    """When a person last resumed; 0 where never."""
    times = [
        entry.time
        for entry in ledger.of(HOLD_FILE)
        if entry.state == "resumed" and entry.cluster in ("", cluster)
    ]
    return max(times, default=0)


def observed_migrations(ledger: Ledger, cluster: str) -> frozenset[str]:
    """UIDs of foreign migrations that the ledger has already."""
    return frozenset(entry.migration_uid for entry in observed_entries(ledger, cluster))


def observed_entries(ledger: Ledger, cluster: str) -> tuple[Entry, ...]:
    """The foreign migrations that were seen, oldest first."""
    prefix = f"requests/{cluster}/"
    return tuple(
        entry
        for entry in ledger.entries
        if entry.state == MoveState.OBSERVED and entry.file.startswith(prefix)
    )


def last_moved(records: Iterable[RequestRecord]) -> Mapping[NamespacedName, int]:
    """When gitbot last moved each VM, in seconds UTC."""
    moved: dict[NamespacedName, int] = {}
    for record in records:
        for move in record.moves.values():
            if move.state is MoveState.SUCCEEDED:
                moved[move.vm] = max(moved.get(move.vm, 0), move.changed_at)
    return moved
