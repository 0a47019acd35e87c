"""Moves that end without a migration: obsolete, late, withdrawn, or stopped with their group."""

from __future__ import annotations

from gitbot.execution.claims import TOO_LATE
from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.executor_types import Approved, CreateMigration, ExecutorInput
from gitbot.execution.ledger_folds import fold_nodes
from gitbot.execution.observe import VANISHED, move_event
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.kubernetes.objects import KubernetesObject, at, uid_of
from gitbot.model.ledger.events import MoveChanged, MoveState, NodeState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.plan import Move
from gitbot.model.text.instants import FOREVER, Interval, intersect, subtract


def ending(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    move: Move,
    request: RequestRecord,
    *,
    never_created: bool,
) -> MoveChanged | None:
    record = request.moves[move.id]
    state, reason = _why(view, facts, approved, move, request)
    if state is None:
        return None
    return move_event(
        view,
        approved,
        move,
        state,
        attempt=record.attempt,
        reason=reason,
        outcome="never-created" if never_created else "",
    )


def _why(
    view: ExecutorInput, facts: ClusterFacts, approved: Approved, move: Move, request: RequestRecord
) -> tuple[MoveState | None, str]:
    if request.cancelled:
        return MoveState.WITHDRAWN, f"the request was cancelled: {request.cancelled}"
    if approved.terms.void:
        return MoveState.WITHDRAWN, approved.terms.void
    moot = "" if _moves_before(approved, move, request) else obsolete_reason(facts, move)
    if moot := moot or _left_source(facts, approved, move, request):
        return MoveState.OBSOLETE, moot
    stopped = stopped_by(request, request.moves[move.id])
    if stopped is not None:
        what = stopped.reason or str(stopped.state)
        return MoveState.WITHDRAWN, f"move {stopped.number} of its group failed: {what}"
    if next_start(view, approved, move, request) is None:
        return (
            MoveState.EXPIRED,
            f"it could not start within its allowed time{_frozen(view, approved, move)}",
        )
    return _node_is_over(view, approved, move)


def _frozen(view: ExecutorInput, approved: Approved, move: Move) -> str:
    """Which freezes cover what is left of the move's time, in words; "" if it is simply over."""
    left = intersect(approved.terms.allowed, (Interval(start=view.now, end=FOREVER),))
    names = [
        freeze.intent.name
        for freeze in view.problem.freezes
        if move.vm.namespaced_name in freeze.vms and intersect(freeze.times, left)
    ]
    return f": frozen by {', '.join(names)} to its end" if names else ""


def _node_is_over(
    view: ExecutorInput, approved: Approved, move: Move
) -> tuple[MoveState | None, str]:
    """A node leaves service once in an occurrence: remaining moves of its drain never start."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return None, ""
    nodes = fold_nodes(view.ledger, cluster=view.cluster, occurrence=maintenance.occurrence)
    node = nodes.get(move.source.node)
    if node is None or node.state not in (NodeState.RETURNED, NodeState.CLOSED):
        return None, ""
    return MoveState.WITHDRAWN, f"{node.node} is {node.state} already"


def _moves_before(approved: Approved, move: Move, request: RequestRecord) -> bool:
    """Whether an earlier move of the same plan still has to bring the VM to its source."""
    return any(
        other.vm == move.vm
        and (other.wave, other.id) < (move.wave, move.id)
        and other.id in request.moves
        and not request.moves[other.id].final
        for other in approved.moves
    )


def _left_source(
    facts: ClusterFacts, approved: Approved, move: Move, request: RequestRecord
) -> str:
    """Why the request no longer moves the VM: it left `source`, and not by a move of this plan.

    VMs that only make room start elsewhere, and so does the second of two moves of the VM.
    """
    source, here = approved.terms.source, facts.node_of(move.vm.namespaced_name)
    moves = [other for other in approved.moves if other.vm == move.vm]
    first = min(moves, key=lambda other: (other.wave, other.id))
    if first.source.node != source or here == source:
        return ""
    known = [request.moves[other.id] for other in moves if other.id in request.moves]
    if any(item.landed and item.state is not MoveState.OBSOLETE for item in known):
        return ""
    return f"the VM runs on {here or 'no known node'}, and the request moves it from {source}"


def obsolete_reason(facts: ClusterFacts, move: Move) -> str:
    name = move.vm.namespaced_name
    instance = facts.instances.get(name)
    if instance is None:
        return "the VM is gone"
    if uid_of(instance) != move.vm.uid:
        return "the VM was restarted since the plan was made"
    node = facts.node_of(name)
    if node == move.source.node:
        return ""
    if facts.satisfies(node, move):
        return f"the VM is on {node} already"
    if not isinstance(move.request, MigrationRequestId):
        return f"the VM left {move.source.node} for {node or 'no known node'}"
    return ""


def stopped_by(request: RequestRecord, record: MoveRecord) -> MoveRecord | None:
    for other in request.moves.values():
        same = other.group == record.group and other.digest == record.digest
        bad = other.state is MoveState.FAILED or other.outcome == VANISHED
        if same and other.number != record.number and other.final and bad:
            return other
    return None


def has_started(request: RequestRecord, record: MoveRecord) -> bool:
    return any(
        other.effects
        for other in request.moves.values()
        if other.group == record.group and other.digest == record.digest
    )


def next_start(
    view: ExecutorInput, approved: Approved, move: Move, request: RequestRecord
) -> int | None:
    """Earliest time (UTC seconds) at which the move may start; None if never."""
    span = next_span(view, approved, move, request)
    return None if span is None else span.start


def next_span(
    view: ExecutorInput, approved: Approved, move: Move, request: RequestRecord
) -> Interval | None:
    """The first interval in which the move may start and still end in time; None if never."""
    future = (Interval(start=view.now, end=FOREVER),)
    spans = intersect(approved.terms.allowed, future)
    record = request.moves[move.id]
    if approved.terms.finish and has_started(request, record):
        spans = future
    frozen = tuple(
        span
        for freeze in view.problem.freezes
        if move.vm.namespaced_name in freeze.vms
        for span in freeze.times
    )
    for span in subtract(spans, frozen):
        if span.start + move.estimated_seconds <= span.end:
            return Interval(start=span.start, end=span.end - move.estimated_seconds + 1)
    return None


def reason_not_to_send(
    view: ExecutorInput,
    ledger: Ledger,
    effect: CreateMigration,
    instance: KubernetesObject | None,
    now: int,
) -> str:
    """Why gitbot must not create the migration now; "" if it may.

    The decision was made on `view`; `ledger` and `instance` (the VMI) were read later.
    """
    event = effect.event
    request = fold_requests(ledger, view.cluster).get(effect.approved.id)
    record = request.moves.get(effect.move.id) if request is not None else None
    if request is None or record is None or request.cancelled:
        return "the request was cancelled"
    if record.state is not MoveState.INTENDED or record.migration != event.migration:
        return f"the move is {record.state} by now"
    if record.claim != event.claim or event.claim is None:
        return "another executor claimed it"
    if instance is None or uid_of(instance) != effect.move.vm.uid:
        return "the VM is gone or was restarted"
    node = str(at(instance, "status", "nodeName", default=""))
    if node != event.source:
        return f"the VM left {event.source} for {node or 'no known node'}"
    if now >= event.claim.until:
        return TOO_LATE
    starts = next_start(view.replace(now=now), effect.approved, effect.move, request)
    return "" if starts is not None and starts <= now else "its allowed time is over"
