"""Folds over the ledger: nodes, concerns, stop flag and circuit breaker.

`request_records` folds requests and moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from gitbot.execution.executor_types import Approved, BreakerLimits
from gitbot.execution.observe import UNEXPECTED
from gitbot.execution.request_records import RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.caches import LastValueCache
from gitbot.model.ledger.event_parts import WindowTerms
from gitbot.model.ledger.events import (
    ClusterIdentified,
    ConcernChanged,
    ConcernState,
    ForeignMove,
    HomeNoted,
    MoveApproved,
    MoveChanged,
    MoveEvent,
    MoveState,
    NodeChanged,
    NodeState,
    RequestEvent,
    StopLifted,
    StopSet,
    WindowBegun,
)
from gitbot.model.ledger.ledger import FORMAT, HOLD_FILE, Ledger
from gitbot.model.ledger.request_id import DrainId, OccurrenceId, RequestId
from gitbot.model.struct import FrozenStruct

BUSY = frozenset({NodeState.DRAINING, NodeState.READY})


class NodeRecord(FrozenStruct, frozen=True, kw_only=True):
    """One node of one occurrence; `since` in seconds UTC, `boot_id` from before the drain."""

    node: str
    state: NodeState = NodeState.WAITING
    since: int = 0
    boot_id: str = ""
    reason: str = ""
    cordoned_by_gitbot: bool = False


def fold_nodes(
    ledger: Ledger, *, cluster: str, occurrence: OccurrenceId
) -> Mapping[str, NodeRecord]:
    """The nodes of one occurrence that have left state waiting, sorted."""
    nodes: dict[str, NodeRecord] = {}
    for event in ledger.nodes(cluster, occurrence):
        if not isinstance(event, NodeChanged):
            continue
        facts = event.facts
        before = nodes.get(facts.node) or NodeRecord(node=facts.node)
        nodes[facts.node] = NodeRecord(
            node=facts.node,
            state=event.state,
            since=event.time,
            boot_id=before.boot_id if facts.boot_id is None else facts.boot_id,
            reason=event.reason,
            cordoned_by_gitbot=(
                before.cordoned_by_gitbot if facts.cordoned is None else facts.cordoned
            ),
        )
    return dict(sorted(nodes.items()))


def fold_homes(
    ledger: Ledger, *, cluster: str, occurrence: OccurrenceId
) -> Mapping[NamespacedName, str]:
    """Home of each VM that an occurrence moved: its node at the first move, sorted by VM."""
    homes: dict[NamespacedName, str] = {}
    for event in ledger.nodes(cluster, occurrence):
        if isinstance(event, HomeNoted):
            homes.setdefault(NamespacedName.parse(event.vm), event.source)
    return dict(sorted(homes.items()))


def window_as_merged(
    ledger: Ledger, *, cluster: str, occurrence: OccurrenceId
) -> WindowTerms | None:
    """The window as the nodes file records it at the first drain; None if nothing began."""
    for event in ledger.nodes(cluster, occurrence):
        if isinstance(event, WindowBegun):
            return event.terms
    return None


def drains_without_moves(
    ledger: Ledger, cluster: str, records: Mapping[RequestId, RequestRecord]
) -> Mapping[DrainId, bool]:
    """The drains that began and have no move; True if every node of one is back, or gone."""
    found: dict[DrainId, bool] = {}
    for occurrence in occurrences_of(ledger, cluster):
        drain, record = occurrence.drain, records.get(occurrence.drain)
        begun = window_as_merged(ledger, cluster=cluster, occurrence=occurrence)
        if begun is None or (record is not None and record.moves):
            continue
        nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
        left = any(node.state in BUSY for node in nodes.values())
        found[drain] = not left and nodes.keys() >= set(begun.nodes)
    return found


def has_nodes_to_drain(ledger: Ledger, record: RequestRecord, *, cluster: str, now: int) -> bool:
    """Whether a node of a drain is being emptied, or may still start.

    This can be true after all moves have ended: a node whose move failed stays cordoned, and a node
    without VMs waits for its turn while the window is open.
    """
    if not isinstance(record.id, DrainId):
        return False
    occurrence = record.id.occurrence
    nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
    if any(node.state is NodeState.DRAINING for node in nodes.values()):
        return True
    begun = window_as_merged(ledger, cluster=cluster, occurrence=occurrence)
    names = {*(begun.nodes if begun else ()), *(move.source for move in record.moves.values())}
    approved = (item for item in ledger.requests(cluster) if isinstance(item, MoveApproved))
    spans = [span for item in approved if item.request == record.id for span in item.terms.allowed]
    return not names <= nodes.keys() and any(end > now for _, end in spans)


def has_nodes_to_begin(ledger: Ledger, approved: Approved, *, cluster: str, now: int) -> bool:
    """Whether a node of an approved drain has not started, and its window is not over."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return False
    begun = fold_nodes(ledger, cluster=cluster, occurrence=maintenance.occurrence)
    is_over = all(span.end <= now for span in approved.terms.allowed)
    return not is_over and not begun.keys() >= set(maintenance.nodes)


def begins_nodes_now(ledger: Ledger, approved: Approved, *, cluster: str, now: int) -> bool:
    """Whether a node of an approved drain may begin at this moment."""
    is_open = any(span.contains(now) for span in approved.terms.allowed)
    return is_open and has_nodes_to_begin(ledger, approved, cluster=cluster, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernRecord:
    """One concern: since when gitbot observes it, and what it proposed or a person refused.

    `closed` has the digests whose pull requests a person closed without a merge. `commits` are the
    heads that gitbot pushed, and `files` the digests of the proposal files that it wrote, each with
    its base: any other head or file is a person's change. `no_plan`: why the planner gave no plan
    when gitbot last observed the concern, "" if it did.
    """

    concern: str
    observation: str = ""
    observed_since: int = 0
    no_plan: str = ""
    opened: str = ""  # digest of the open pull request, as far as the ledger knows
    pull_request: int = 0
    opened_at: int = 0
    ended: str = ""  # how the last pull request ended: merged, closed or withdrawn
    gone: bool = False  # whether the concern has disappeared since that pull request was opened
    closed: frozenset[str] = frozenset()
    commits: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)


def fold_concern(ledger: Ledger, *, cluster: str, concern: str) -> ConcernRecord:
    record = ConcernRecord(concern=concern)
    for event in ledger.concern(cluster, concern):
        record = _fold_concern(record, event)
    return record


def _fold_concern(record: ConcernRecord, event: ConcernChanged) -> ConcernRecord:
    match event.state:
        case ConcernState.OBSERVED | ConcernState.UNPLANNED:
            why = event.reason if event.state is ConcernState.UNPLANNED else ""
            seen = replace(record, observation=event.digest, observed_since=event.time)
            return replace(seen, no_plan=why)
        case ConcernState.GONE:
            gone = replace(record, observation="", observed_since=0, opened="", gone=True)
            return replace(gone, no_plan="")
        case ConcernState.PROPOSED:
            commits = record.commits | {event.commit} if event.commit else record.commits
            made = {event.proposal.file: event.proposal.base} if event.proposal else {}
            files = {**record.files, **made}
            return replace(record, opened=event.digest, commits=commits, files=files)
        case ConcernState.OPENED:
            number = event.pull_request
            return replace(record, pull_request=number, opened_at=event.time, ended="", gone=False)
        case ConcernState.CLOSED:
            refused = record.closed | {event.digest}
            return replace(record, opened="", closed=refused, ended=event.state)
        case ConcernState.MERGED | ConcernState.WITHDRAWN:
            return replace(record, opened="", ended=event.state)
        case ConcernState.AUTO:
            return record
        case _:
            assert_never(event.state)


def concerns_of(ledger: Ledger, cluster: str) -> tuple[str, ...]:
    return ledger.names_below(f"concerns/{cluster}/")


def occurrences_of(ledger: Ledger, cluster: str) -> tuple[OccurrenceId, ...]:
    return tuple(OccurrenceId.parse(name) for name in ledger.names_below(f"nodes/{cluster}/"))


def stop_flag(ledger: Ledger, cluster: str) -> str:
    last = ledger.stops(cluster)[-1:]
    return "".join(event.reason or "held" for event in last if isinstance(event, StopSet))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNames:
    """Which cluster a name meant last, and what a cluster was called last, by its UID."""

    uids: Mapping[str, str]
    names: Mapping[str, str]


def fold_clusters(ledger: Ledger) -> ClusterNames:
    return _cluster_names(ledger.identified())  # a pass asks several times


def _fold_clusters(events: Iterable[MoveEvent | ClusterIdentified]) -> ClusterNames:
    uids: dict[str, str] = {}
    names: dict[str, str] = {}
    for event in events:
        if type(event) is MoveChanged and event.claim is None:
            continue  # most lines
        if uid := _cluster_uid(event):
            uids[event.cluster], names[uid] = uid, event.cluster
    return ClusterNames(uids=uids, names=names)


_cluster_names = LastValueCache[tuple[MoveEvent | ClusterIdentified, ...], ClusterNames](
    lambda events, _last: _fold_clusters(events)
)


def _cluster_uid(event: MoveEvent | ClusterIdentified) -> str:
    match event:
        case ClusterIdentified():
            return event.uid
        case MoveApproved():
            return event.terms.cluster_uid
        case MoveChanged():
            return event.claim.cluster_uid if event.claim is not None else ""


def unknown_events_reason(ledger: Ledger, cluster: str) -> str:
    """Why this gitbot does not understand the ledger, and which one does; "" if it does."""
    raised = ledger.raised
    if raised is not None and raised.format > FORMAT:
        has = f"the ledger has format {raised.format} since line {raised.seq}"
        return f"{has}, and this gitbot knows {FORMAT}: install gitbot {raised.needs} or newer"
    unknown = ledger.unknown(cluster)
    if not unknown:
        return ""
    first = unknown[0]
    what = f"{first.state or 'no state'} in {first.file}"
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    return f"a newer gitbot wrote to the ledger: line {first.seq} ({what}){more}; update gitbot"


def observed_migrations(ledger: Ledger, cluster: str) -> frozenset[str]:
    requests = ledger.requests(cluster)
    return frozenset(event.migration_uid for event in requests if isinstance(event, ForeignMove))


DAY = 86_400
BREAKER = "gitbot"  # the author of its stops


def breaker_reason(ledger: Ledger, cluster: str, *, now: int, limits: BreakerLimits) -> str:
    """Why the circuit opens; "" if it stays closed.

    Counts events of the last 24 hours, and since a person last resumed. A limit of 0 is off.
    """
    events, since = ledger.requests(cluster), now - DAY
    lifted = [event.seq for event in ledger.stops(cluster) if isinstance(event, StopLifted)]
    # By line number, not by time: the clock of the person who resumed may be wrong.
    resumed = max(lifted, default=0)

    def counts(event: RequestEvent) -> bool:
        # 0: the line is not written yet
        return event.time > since and (event.seq > resumed or not event.seq)

    moves = (event for event in events if isinstance(event, MoveChanged) and counts(event))
    failed = [event for event in moves if event.state is MoveState.FAILED]
    unexpected = [event for event in failed if event.outcome == UNEXPECTED]
    returns = _foreign_returns(events, counts)
    for count, limit, what in (
        (len(unexpected), limits.unexpected_landings, "VMs landed on nodes that nobody approved"),
        (len(failed), limits.failures, "moves failed"),
        (returns, limits.foreign_returns, "VMs were moved back by somebody else"),
    ):
        if limit and count >= limit:
            return f"circuit breaker: {count} {what} (limit {limit})"
    return ""


def breaker_event(reason: str, *, cluster: str, now: int) -> StopSet:
    return StopSet(file=HOLD_FILE, time=now, cluster=cluster, author=BREAKER, reason=reason)


def _foreign_returns(events: Iterable[RequestEvent], counts: Callable[[RequestEvent], bool]) -> int:
    """How often another mover returned a VM to the node that gitbot had moved it from."""
    taken_from: dict[str, str] = {}
    returns: Counter[str] = Counter()
    for event in events:
        match event:
            case ForeignMove():
                home = taken_from.get(event.vm)
                if counts(event) and event.landed and home == event.landed:
                    returns[event.vm] += 1
            case MoveChanged(state=MoveState.SUCCEEDED):
                taken_from[event.vm] = event.source
    return returns.total()
