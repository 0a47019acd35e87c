"""Concerns about requests that ended half-way: finish them."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.admit_plans import SUPERSEDED
from gitbot.execution.ledger_folds import BUSY, fold_nodes, window_as_merged
from gitbot.execution.request_records import RequestRecord, RequestState
from gitbot.kubernetes.objects import uid_of
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.ledger.request_id import DrainId, MigrationRequestId, OccurrenceId, RequestId
from gitbot.model.plan.problem import EmptyNodes, MoveVms, ReturnHome
from gitbot.model.text.canonical import digest, short_digest
from gitbot.model.text.wording import first_of
from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    concern_name,
    numbered,
)

_Goal = MoveVms | EmptyNodes | ReturnHome


def rests(sources: ConcernSources) -> list[Concern]:
    """One for each request that ended half-way, or with nothing done, or can go no further."""
    concerns = []
    for name, record in sources.records.items():
        over = record.finished or _is_stuck(sources, record)
        if not over or record.cancelled or _is_to_come(sources, record):
            continue
        goal = _rest_goal(sources, name, record)
        if goal is not None:
            concerns.append(_rest(sources, name, goal))
    return concerns


def _is_stuck(sources: ConcernSources, record: RequestRecord) -> bool:
    """Whether all moves of a drain wait for nodes that cannot get empty: a move away failed.

    Such nodes keep their places under maxNodesAtOnce, so that no other node begins.
    """
    if not isinstance(record.id, DrainId):
        return False
    ledger, cluster, occurrence = sources.ledger, sources.cluster, record.id.occurrence
    begun = window_as_merged(ledger, cluster=cluster, occurrence=occurrence)
    if begun is None:
        return False
    nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
    busy = {name: node for name, node in nodes.items() if node.state in BUSY}
    to_come = {move.source for move in record.moves.values() if not move.final}
    return len(busy) >= begun.max_nodes_at_once and all(
        node.state is NodeState.DRAINING
        and name not in to_come
        and sources.facts.instances_on(name)
        for name, node in busy.items()
    )


def _is_to_come(sources: ConcernSources, record: RequestRecord) -> bool:
    """Whether an approved plan has moves for a request that the ledger has not accepted yet."""
    return any(
        move.id > record.highest_move
        for item in sources.approved
        if item.id == record.id and not item.terms.void
        for move in item.moves
    )


def _rest(sources: ConcernSources, name: RequestId, goal: _Goal) -> Concern:
    match goal:
        case MoveVms():
            what = [str(vm) for vm in goal.vms]
        case EmptyNodes():
            what = list(goal.nodes)
        case ReturnHome():
            what = [str(vm) for vm in goal.homes]
    over = sources.records[name].finished
    why = f"finish {name}, which {'ended half-way' if over else 'cannot go on'}"
    if isinstance(goal, ReturnHome):
        why = f"bring the canaries of {name} home: they run on the node that was to be validated"
    return Concern(
        name=concern_name("rest", short_digest(name, 12)),
        intent=goal.request.intent,
        goal=replace(goal, request=numbered(sources, goal.request)),
        observation=digest([name, what, sources.records[name].highest_move]),
        why=f"{why}: {first_of(what, 3)}",
        occurrence=name.occurrence.id if isinstance(name, DrainId) else "",
    )


def _rest_goal(sources: ConcernSources, name: RequestId, record: RequestRecord) -> _Goal | None:
    """What a finished request has left to do; None for nothing.

    A breach that remains, or a VM that is not home, becomes a concern again.
    """
    match name:
        case MigrationRequestId():
            return _rest_of_request(sources, name, record)
        case DrainId(occurrence=occurrence):
            return _rest_of_drain(sources, occurrence)
        case _:
            return None


def _rest_of_request(
    sources: ConcernSources, name: RequestId, record: RequestRecord
) -> MoveVms | ReturnHome | None:
    if record.state is RequestState.SUCCEEDED:
        return _canaries(sources, name, record)
    if record.state not in (RequestState.PARTIAL, RequestState.FAILED):
        return None
    counted = (move for _, move in sorted(record.moves.items()) if move.outcome != SUPERSEDED)
    last = {move.vm: move for move in counted}
    bad = (MoveState.FAILED, MoveState.WITHDRAWN)
    left = tuple(sorted(vm for vm, move in last.items() if move.state in bad))
    goals = sources.base.request_goals(sources.problem.snapshot, now=sources.now, only=(name,))
    return replace(goals[0], vms=left) if goals and left else None


def _canaries(sources: ConcernSources, name: RequestId, record: RequestRecord) -> ReturnHome | None:
    """Where the VMs of a NodeValidation came from; None once they are back or somebody moved them.

    Only while the request's own time lasts.
    """
    goals = sources.base.request_goals(sources.problem.snapshot, now=sources.now, only=(name,))
    if not goals or sources.base.reason_of(goals[0].request.intent) != "NodeValidation":
        return None
    done = [move for _, move in sorted(record.moves.items()) if move.state is MoveState.SUCCEEDED]
    first = {move.vm: move.source for move in reversed(done)}
    last = {move.vm: move for move in done}
    homes = {
        vm: first[vm]
        for vm, move in sorted(last.items())
        if sources.facts.node_of(vm) == move.landed != first[vm]
        and uid_of(sources.facts.instances.get(vm, {})) == move.vm_uid
    }
    return ReturnHome(request=goals[0].request, homes=homes) if homes else None


def _rest_of_drain(sources: ConcernSources, occurrence: OccurrenceId) -> EmptyNodes | None:
    """The nodes that began and are not empty: a move failed, or an unplanned VM arrived."""
    intent = sources.base.intents.find("MaintenanceWindow", occurrence.window)
    opening = sources.base.opening(intent, now=sources.now) if intent is not None else None
    if intent is None or opening is None or opening.id != occurrence.id:
        return None
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    left = {
        name
        for name, node in nodes.items()
        if node.state is NodeState.DRAINING and sources.facts.instances_on(name)
    }
    goal = sources.base.drain_goal(intent, opening, sources.problem.snapshot, now=sources.now)
    if goal is None or not left & set(goal.nodes):
        return None
    if goal.together:  # the nodes that are empty take no VM either
        return goal
    later = tuple(
        name for name in goal.nodes if name not in nodes or nodes[name].state is NodeState.WAITING
    )
    return replace(goal, nodes=tuple(node for node in goal.nodes if node in left), later=later)
