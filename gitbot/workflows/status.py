"""Status: what runs, what waits and for what, what failed, and the next command to type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.errors import ClusterError, UsageError
from gitbot.execution.facts import ClusterFacts
from gitbot.execution.requests import MoveRecord, RequestRecord, fold_requests
from gitbot.execution.state import NodeRecord, NodeState, fold_nodes, window_as_merged
from gitbot.execution.values import Waiting
from gitbot.model.instants import format_instant
from gitbot.model.ledger import Ledger, MoveState
from gitbot.model.names import NamespacedName
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.look import Look, look, look_without_cluster
from gitbot.workflows.shell import Shell
from gitbot.workflows.unapplied import (
    OBSERVE,
    NotApplied,
    NotPlanned,
    apply_command,
    not_applied,
    not_planned,
)

NOTHING = "nothing is approved: "
RECENT = 86_400  # seconds for which a finished request is still listed


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStatus:
    """One move, and for what it waits ("" where it does not); `until` in seconds UTC or 0."""

    record: MoveRecord
    waits: str = ""
    until: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatus:
    """One request with its moves, and what a person may type next ("" for nothing)."""

    record: RequestRecord
    moves: tuple[MoveStatus, ...]
    next_command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusResult:
    """Everything that `gitbot status` shows. `refused` are merges that approved nothing.

    `not_applied` are approved, but no pass took them up; `not_planned` are requests of the base
    branch without an approved plan; `to_return` are nodes that a person says are back.

    `not_read` says why the cluster could not be read, "" where it was: then nothing is known of
    what waits, of VMs outside a plan, of wishes without one, and of the cluster's stop flag.

    `nodes` by `window/occurrence`; `unplanned` are VMs on a node that is being drained that no
    approved plan moves or leaves there, by node.
    """

    cluster: str
    now: int
    stop: str
    requests: tuple[RequestStatus, ...]
    nodes: Mapping[str, tuple[NodeRecord, ...]]
    unplanned: Mapping[str, tuple[NamespacedName, ...]]
    pulls: tuple[PullRequest, ...]
    refused: tuple[str, ...]
    not_applied: tuple[NotApplied, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()
    to_return: tuple[str, ...] = ()
    not_read: str = ""


def status(shell: Shell, *, request: str = "") -> StatusResult:
    """Look at everything; with `request` at one request, finished or not.

    Where the cluster cannot be read, the rest is shown, and `not_read` says so.
    """
    ledger = shell.ledger_store.read()
    try:
        seen = look(shell, ledger)
    except ClusterError as error:
        seen = look_without_cluster(shell, ledger, unread=str(error))
    records = fold_requests(ledger, shell.cluster_name)
    if request and request not in records:
        known = ", ".join(records) or "none"
        raise UsageError(f"the ledger knows no request {request}; known: {known}")
    chosen = [
        record
        for name, record in records.items()
        if (name == request if request else _is_shown(record, seen.now))
    ]
    nodes = _away(ledger, shell.cluster_name)
    pulls = tuple(
        pull
        for pull in shell.forge.list_pulls(state=PullState.OPEN)
        if pull.author == shell.forge.bot
    )
    observe = OBSERVE if seen.base.settings.mode == "Observe" else ""
    return StatusResult(
        cluster=shell.cluster_name,
        now=seen.now,
        stop=seen.stop or observe,
        requests=tuple(_request(seen, record) for record in chosen),
        nodes=nodes,
        unplanned={} if seen.unread else _unplanned(seen, records, nodes),
        pulls=pulls,
        refused=tuple(
            f"pull request {item.pull_request}: {NOTHING}"
            f"{item.reason.removeprefix(NOTHING)}; next: gitbot propose"
            for item in seen.approvals.refused
        ),
        not_applied=not_applied(seen, shell.cluster_name),
        not_planned=() if seen.unread else not_planned(shell, seen, pulls),
        to_return=_to_return(seen, shell.cluster_name, nodes),
        not_read=seen.unread,
    )


def _to_return(
    seen: Look, cluster: str, nodes: Mapping[str, tuple[NodeRecord, ...]]
) -> tuple[str, ...]:
    """Nodes that are ready, of windows where only `gitbot returned` says that they are back."""
    found: set[str] = set()
    for name, states in nodes.items():
        window, _, occurrence = name.partition("/")
        begun = window_as_merged(seen.ledger, cluster=cluster, window=window, occurrence=occurrence)
        done = {str(begun.get("done", ""))} | {
            item.terms.maintenance.done
            for item in seen.approvals.approved
            if item.id == f"drain/{name}" and item.terms.maintenance is not None
        }
        if "Command" in done:
            found |= {node.node for node in states if node.state is NodeState.READY}
    return tuple(sorted(found))


def _is_shown(record: RequestRecord, now: int) -> bool:
    if not record.finished:
        return True
    return now - max((move.changed_at for move in record.moves.values()), default=0) <= RECENT


def _request(seen: Look, record: RequestRecord) -> RequestStatus:
    waiting = {item.move: item for item in seen.steps.waiting if item.request == record.id}
    moves = tuple(_move(move, waiting.get(number)) for number, move in sorted(record.moves.items()))
    return RequestStatus(record=record, moves=moves, next_command=_next(seen, record))


def _move(record: MoveRecord, waiting: Waiting | None) -> MoveStatus:
    if waiting is None:
        return MoveStatus(record=record)
    return MoveStatus(record=record, waits=waiting.reason, until=waiting.until)


def _next(seen: Look, record: RequestRecord) -> str:
    if seen.stop and not record.finished:
        return "gitbot resume --by NAME"
    if any(item.request == record.id for item in seen.steps.stale):
        return "gitbot propose"
    failed = [move for move in record.moves.values() if move.state is MoveState.FAILED]
    if failed:
        return f"gitbot explain vm/{failed[0].vm.name} -n {failed[0].vm.namespace}"
    return "" if record.finished else apply_command(seen)


def nodes_of(ledger: Ledger, cluster: str) -> Mapping[str, tuple[NodeRecord, ...]]:
    """Nodes by `window/occurrence`, of all occurrences that began."""
    prefix = f"nodes/{cluster}/"
    files = sorted({entry.file for entry in ledger.entries if entry.file.startswith(prefix)})
    found: dict[str, tuple[NodeRecord, ...]] = {}
    for file in files:
        name = file.removeprefix(prefix).removesuffix(".jsonl")
        window, _, occurrence = name.partition("/")
        nodes = fold_nodes(ledger, cluster=cluster, window=window, occurrence=occurrence)
        found[name] = tuple(nodes.values())
    return found


def _away(ledger: Ledger, cluster: str) -> Mapping[str, tuple[NodeRecord, ...]]:
    """Those of occurrences with a node that is not back."""
    away = (NodeState.DRAINING, NodeState.READY)
    return {
        name: nodes
        for name, nodes in nodes_of(ledger, cluster).items()
        if any(node.state in away for node in nodes)
    }


def _unplanned(
    seen: Look,
    records: Mapping[str, RequestRecord],
    nodes: Mapping[str, tuple[NodeRecord, ...]],
) -> Mapping[str, tuple[NamespacedName, ...]]:
    """VMs on draining nodes that are not in the approved plan."""
    facts = ClusterFacts.of(seen.problem, ())
    found: dict[str, tuple[NamespacedName, ...]] = {}
    for name, states in nodes.items():
        request = f"drain/{name}"
        moves = records[request].moves.values() if request in records else ()
        known = {move.vm for move in moves if not move.final}
        for item in seen.approvals.approved:
            if item.id == request and item.terms.maintenance is not None:
                known |= item.terms.maintenance.stays
        for node in states:
            left = tuple(vm for vm in facts.instances_on(node.node) if vm not in known)
            if node.state is NodeState.DRAINING and left:
                found[node.node] = left
    return found


def status_json(result: StatusResult) -> Mapping[str, Any]:
    """The published document of kind Status."""
    return {
        "apiVersion": "placement.gitbot.dev/v1alpha1",
        "kind": "Status",
        "cluster": result.cluster,
        "time": format_instant(result.now),
        "notRead": result.not_read,
        "stop": result.stop,
        "requests": [_request_json(item) for item in result.requests],
        "maintenance": [
            {
                "window": name.partition("/")[0],
                "occurrence": name.partition("/")[2],
                "nodes": [
                    {
                        "node": node.node,
                        "state": str(node.state),
                        "since": format_instant(node.since),
                        "unplanned": [str(vm) for vm in result.unplanned.get(node.node, ())],
                        "next": next_for_node(result, node),
                    }
                    for node in nodes
                ],
            }
            for name, nodes in result.nodes.items()
        ],
        "pullRequests": [
            {"number": pull.number, "title": pull.title, "branch": pull.branch}
            for pull in result.pulls
        ],
        "refused": list(result.refused),
        "notApplied": [
            {
                "pullRequest": item.pull_request,
                "request": item.request,
                "next": item.next_command,
            }
            for item in result.not_applied
        ],
        "notPlanned": [
            {"request": item.request, "reason": item.reason, "next": item.next_command}
            for item in result.not_planned
        ],
    }


def next_for_node(result: StatusResult, node: NodeRecord) -> str:
    """What a person may type about a node; "" for nothing."""
    waits = node.state is NodeState.READY and node.node in result.to_return
    return f"gitbot returned {node.node}" if waits else ""


def _request_json(item: RequestStatus) -> Mapping[str, Any]:
    return {
        "id": item.record.id,
        "state": str(item.record.state),
        "next": item.next_command,
        "moves": [
            {
                "id": move.record.number,
                "vm": str(move.record.vm),
                "from": move.record.source,
                "to": move.record.to,
                "state": str(move.record.state),
                "landed": move.record.landed,
                "reason": move.record.reason,
                "waits": move.waits,
                "until": format_instant(move.until) if move.until else "",
            }
            for move in item.moves
        ],
    }
