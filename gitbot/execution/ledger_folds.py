"""Folds over the ledger: nodes, concerns, and the stop flag.

Requests and moves are in `requests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from gitbot.execution.executor_types import Approved
from gitbot.execution.request_records import RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.event_parts import WindowTerms
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    ForeignMove,
    HomeNoted,
    MoveApproved,
    NodeChanged,
    NodeState,
    StopSet,
    WindowBegun,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import DrainId, OccurrenceId
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


def has_nodes_to_drain(ledger: Ledger, record: RequestRecord, *, cluster: str, now: int) -> bool:
    """Whether a node of a drain is being emptied, or may yet begin.

    That outlasts its moves: a node whose move failed stays cordoned, and one that holds no VM waits
    for its turn while the window is open.
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
    """Whether a node of an approved drain has yet to begin, and its window is not over."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return False
    begun = fold_nodes(ledger, cluster=cluster, occurrence=maintenance.occurrence)
    is_over = all(span.end <= now for span in approved.terms.allowed)
    return not is_over and not begun.keys() >= set(maintenance.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernRecord:
    """One concern: since when it is observed, and what was proposed or refused.

    `closed` holds the digests whose pull requests a person closed without a merge; `commits` the
    heads that gitbot pushed, so that a person's push is recognised; `files` the digests of the
    proposal files that it wrote, so that a person's edit is recognised, each with its base.
    """

    concern: str
    observation: str = ""
    observed_since: int = 0
    opened: str = ""  # digest of the pull request that is open as far as the ledger knows
    pull_request: int = 0
    opened_at: int = 0
    ended: str = ""  # what became of the last pull request: merged, closed or withdrawn
    gone: bool = False  # whether the concern has been gone since that was opened
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
        case ConcernState.OBSERVED:
            return replace(record, observation=event.digest, observed_since=event.time)
        case ConcernState.GONE:
            return replace(record, observation="", observed_since=0, opened="", gone=True)
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


def ledger_stop(ledger: Ledger, cluster: str) -> str:
    return unknown_events_reason(ledger, cluster) or stop_flag(ledger, cluster)


def unknown_events_reason(ledger: Ledger, cluster: str) -> str:
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
