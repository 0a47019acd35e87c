"""Concerns about what ended half-way: finish it."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.accept import SUPERSEDED
from gitbot.execution.requests import RequestRecord, RequestState
from gitbot.execution.state import NodeState, fold_nodes
from gitbot.model.canonical import digest, short_digest
from gitbot.model.ledger import MoveState
from gitbot.model.problem import (
    EmptyNodes,
    MoveVms,
)
from gitbot.workflows.concerns.value import Concern, Scene, concern_name, numbered, some


def rests(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """One for each request that ended half-way, or with nothing done."""
    concerns = []
    for name, record in records.items():
        if not record.finished or record.cancelled or _is_to_come(scene, record):
            continue
        goal = _rest_goal(scene, name, record)
        if goal is not None:
            concerns.append(_rest(records, name, goal))
    return concerns


def _is_to_come(scene: Scene, record: RequestRecord) -> bool:
    """Whether an approved plan has moves for a request that the ledger has not accepted yet."""
    return any(
        move.id > record.highest_move
        for item in scene.approved
        if item.id == record.id and not item.terms.void
        for move in item.moves
    )


def _rest(records: dict[str, RequestRecord], name: str, goal: MoveVms | EmptyNodes) -> Concern:
    what = [str(vm) for vm in goal.vms] if isinstance(goal, MoveVms) else list(goal.nodes)
    return Concern(
        name=concern_name("rest", short_digest(name, 12)),
        intent=goal.request.intent,
        goal=replace(goal, request=numbered(goal.request, records)),
        observation=digest([name, what, records[name].highest_move]),
        why=f"finish {name}, which ended half-way: {some(tuple(what))}",
        occurrence=name.split("/")[2] if name.startswith("drain/") else "",
    )


def _rest_goal(scene: Scene, name: str, record: RequestRecord) -> MoveVms | EmptyNodes | None:
    """What of a finished request is left to do; None where nothing is.

    A breach that stands, or a VM that is not home, is a concern anew.
    """
    kind, _, where = name.partition("/")
    if kind == "request":
        return _rest_of_request(scene, name, record)
    if kind == "drain":
        window, _, occurrence = where.partition("/")
        return _rest_of_drain(scene, window, occurrence)
    return None


def _rest_of_request(scene: Scene, name: str, record: RequestRecord) -> MoveVms | None:
    if record.state not in (RequestState.PARTIAL, RequestState.FAILED):
        return None
    counted = (move for _, move in sorted(record.moves.items()) if move.outcome != SUPERSEDED)
    last = {move.vm: move for move in counted}
    bad = (MoveState.FAILED, MoveState.WITHDRAWN)
    left = tuple(sorted(vm for vm, move in last.items() if move.state in bad))
    goals = scene.base.request_goals(scene.problem.snapshot, only=(name,))
    return replace(goals[0], vms=left) if goals and left else None


def _rest_of_drain(scene: Scene, window: str, occurrence: str) -> EmptyNodes | None:
    """The nodes that began and are not empty: a move failed, or a VM came that nobody planned."""
    intent = scene.base.intents.find("MaintenanceWindow", window)
    opening = scene.base.opening(intent) if intent is not None else None
    if intent is None or opening is None or opening.id != occurrence:
        return None
    nodes = fold_nodes(scene.ledger, cluster=scene.cluster, window=window, occurrence=occurrence)
    left = {
        name
        for name, node in nodes.items()
        if node.state is NodeState.DRAINING and scene.facts.instances_on(name)
    }
    goal = scene.base.drain_goal(intent, opening, scene.problem.snapshot)
    if goal is None or not left & set(goal.nodes):
        return None
    return replace(goal, nodes=tuple(node for node in goal.nodes if node in left))
