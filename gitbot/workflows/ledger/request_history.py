"""The ledger as the planner needs it: what is finished, started, numbered, and reserved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from gitbot.execution.executor_types import Approved
from gitbot.execution.ledger_folds import (
    BUSY,
    drains_without_moves,
    fold_nodes,
    occurrences_of,
)
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.intents.compile import RequestHistory
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import (
    MergeJudged,
    MergeState,
    MoveApproved,
    MoveState,
    NodeState,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    OccurrenceId,
    RequestId,
)
from gitbot.model.plan.problem import PastMigrations, Reservation
from gitbot.model.text.instants import Interval
from gitbot.workflows.ledger.kept_plans import plan_of


def request_history(ledger: Ledger, cluster: str) -> RequestHistory:
    """The history of every request of a cluster.

    Planned healings have no digest yet: their move numbers continue over all healings of the rule.
    """
    records = fold_requests(ledger, cluster)
    started: dict[RequestId, str] = {}
    highest: dict[RequestId, int] = {}
    for name, record in records.items():
        planned = name.planned
        highest[planned] = max(highest.get(planned, 0), record.highest_move)
        if any(move.effects for move in record.moves.values()) or record.spent:
            started[name] = _approved_spec(ledger, name, record)
    cordoned = drains_without_moves(ledger, cluster, records)
    started |= _cordoned_specs(ledger, [name for name in cordoned if not started.get(name)])
    spent = {name for name, record in records.items() if record.spent}
    return RequestHistory(
        finished=frozenset(spent | {name for name, over in cordoned.items() if over}),
        cancelled=frozenset(name for name, record in records.items() if record.cancelled),
        started=started,
        highest_moves=highest,
        emptying=frozenset(_emptying(ledger, cluster)),
        returned={
            occurrence.drain: nodes_back(ledger, cluster, occurrence)
            for occurrence in occurrences_of(ledger, cluster)
        },
        begins={
            event.request: min(start for start, _ in event.terms.allowed)
            for event in ledger.requests(cluster)
            if isinstance(event, MoveApproved)
            and isinstance(event.request, DrainId)
            and event.terms.allowed
        },
        left=_left(records),
        took=past_migrations(records),
    )


def past_migrations(
    records: Mapping[RequestId, RequestRecord],
) -> Mapping[NamespacedName, PastMigrations]:
    """By VM, of those that succeeded."""
    moves = (move for record in records.values() for move in record.moves.values())
    done = (move for move in moves if move.state is MoveState.SUCCEEDED and move.migration_uid)
    found: dict[NamespacedName, PastMigrations] = {}
    for move in sorted(done, key=lambda move: move.changed_at):
        seconds = move.changed_at - (move.created_at or move.intended_at)
        count = found[move.vm].count + 1 if move.vm in found else 1
        found[move.vm] = PastMigrations(count=count, seconds=seconds)
    return found


def _left(
    records: Mapping[RequestId, RequestRecord],
) -> Mapping[RequestId, Mapping[str, frozenset[str]]]:
    left: dict[RequestId, dict[str, frozenset[str]]] = {}
    for name, record in records.items():
        for move in record.moves.values() if isinstance(name, HealId) else ():
            if move.state is MoveState.SUCCEEDED:
                nodes = left.setdefault(name.planned, {})
                nodes[move.vm_uid] = nodes.get(move.vm_uid, frozenset()) | {move.source}
    return left


def _emptying(ledger: Ledger, cluster: str) -> Iterator[str]:
    for occurrence in occurrences_of(ledger, cluster):
        nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
        if any(node.state in BUSY for node in nodes.values()):
            yield occurrence.window


def nodes_back(ledger: Ledger, cluster: str, occurrence: OccurrenceId) -> frozenset[str]:
    """The nodes of an occurrence that left service and are back, or gone."""
    nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
    over = (NodeState.RETURNED, NodeState.CLOSED)
    return frozenset(name for name, node in nodes.items() if node.state in over)


def _approved_spec(ledger: Ledger, request: RequestId, record: RequestRecord) -> str:
    """The digest of the spec that was approved first; "" if unknown."""
    if isinstance(request, MigrationRequestId):
        intent = f"MigrationRequest/{request.namespace}/{request.name}"
    elif isinstance(request, DrainId):
        intent = f"MaintenanceWindow/{request.occurrence.window}"
    else:
        return ""
    if not record.moves:
        return ""
    document = plan_of(ledger, record.moves[min(record.moves)].digest)
    return document.plan.intents.get(intent, "") if document else ""


def _cordoned_specs(ledger: Ledger, drains: Collection[DrainId]) -> dict[RequestId, str]:
    """The digest of the spec of each window that began without a move; "" if unknown.

    The newest merge counts that approved cordons for the window.
    """
    specs = dict.fromkeys((drain.occurrence.window for drain in drains), "")
    left = set(specs)
    for event in reversed(ledger.events):
        if not left:
            break
        if not isinstance(event, MergeJudged) or event.state is not MergeState.COUNTED:
            continue
        document = plan_of(ledger, event.digest)
        for each in document.plan.drains if document is not None else ():
            request = each.request
            if document is None or not (each.only_cordoned and isinstance(request, DrainId)):
                continue
            if (window := request.occurrence.window) in left:
                left.discard(window)
                specs[window] = document.plan.intents.get(f"MaintenanceWindow/{window}", "")
    return {drain: specs[drain.occurrence.window] for drain in drains}


def reservations(
    approved: Iterable[Approved],
    records: Mapping[RequestId, RequestRecord],
    *,
    but: Iterable[RequestId] = (),
) -> tuple[Reservation, ...]:
    """Places that approved, unfinished requests take, except those of the planned ids in `but`.

    A held move takes none: it starts only after a new plan, or if it fits again by itself. Its
    place would keep others from mending what holds it.
    """
    skipped = set(but)
    found = []
    for item in approved:
        if item.terms.void or item.terms.consent or skipped & {move.request for move in item.moves}:
            continue
        record = records.get(item.id, RequestRecord(id=item.id))
        known = record.moves
        found += [
            Reservation(
                vm=move.vm.namespaced_name,
                node=move.to.node,
                allowed=item.terms.allowed,
                request=item.id,
                pull_request=item.approval.pull_request,
            )
            for move in item.moves
            if (_takes_place(known[move.id]) if move.id in known else not record.cancelled)
        ]
    return tuple(sorted(found, key=lambda place: (place.vm, place.request)))


def reservations_from_ledger(
    ledger: Ledger, records: Mapping[RequestId, RequestRecord]
) -> tuple[Reservation, ...]:
    """Places that accepted, unfinished moves will take, as far as the ledger alone knows them."""
    allowed = {
        (event.request, event.move): event.terms.allowed
        for event in ledger.events
        if isinstance(event, MoveApproved)
    }
    found = [
        Reservation(
            vm=move.vm,
            node=move.to,
            allowed=tuple(Interval(start=a, end=b) for a, b in allowed.get((name, number), ())),
            request=name,
            pull_request=move.pull_request,
        )
        for name, record in records.items()
        for number, move in record.moves.items()
        if _takes_place(move) and move.to
    ]
    return tuple(sorted(found, key=lambda place: (place.vm, place.request)))


def _takes_place(move: MoveRecord) -> bool:
    return not move.final and move.state is not MoveState.HELD
