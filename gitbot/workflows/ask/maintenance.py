"""Nodes in maintenance: their state, whose cordon they have, and what a person does next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.executor_types import LabelNode, SetUnschedulable
from gitbot.execution.ledger_folds import NodeRecord, fold_nodes, occurrences_of, window_as_merged
from gitbot.execution.request_records import RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.model.ledger.events import NodeChanged, NodeState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.propose import Away

NodesByOccurrence = Mapping[OccurrenceId, tuple[NodeRecord, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """One node of an occurrence that is not closed.

    `cordon` says who cordoned it ("" if the cluster could not be read); `unplanned` are the VMs on
    a draining node for which no approved plan has a move or a stay.
    """

    record: NodeRecord
    cordon: str = ""
    unplanned: tuple[NamespacedName, ...] = ()
    next_command: str = ""


def nodes_of(ledger: Ledger, cluster: str) -> NodesByOccurrence:
    return {
        occurrence: tuple(fold_nodes(ledger, cluster=cluster, occurrence=occurrence).values())
        for occurrence in occurrences_of(ledger, cluster)
    }


def maintenance(
    seen: CurrentState,
    records: Mapping[RequestId, RequestRecord],
    away: tuple[Away, ...],
    *,
    apply: str,
) -> Mapping[OccurrenceId, tuple[NodeStatus, ...]]:
    """Occurrences with a node that is not back, or whose VMs are due home.

    `apply` is the command that carries on with approved work.
    """
    due = {(item.occurrence, item.home): item for item in away if item.due}
    facts = ClusterFacts.of(seen.problem, ())
    pending = _pending(seen)
    found: dict[OccurrenceId, tuple[NodeStatus, ...]] = {}
    for occurrence, nodes in nodes_of(seen.ledger, seen.base.revision.cluster).items():
        returning = any(item == occurrence for item, _ in due)
        out = any(node.state in _AWAY or node.node in pending for node in nodes)
        if not (out or returning):
            continue
        done = _done(seen, occurrence)
        left = {} if seen.unread else _unplanned(seen, facts, records, occurrence, nodes)
        then = {
            node.node: apply
            if node.node in pending
            else _next(node, done, due.get((occurrence, node.node)))
            or _draining(facts, node, left.get(node.node, ()), apply)
            for node in nodes
        }
        found[occurrence] = tuple(
            NodeStatus(
                record=node,
                cordon="" if seen.unread else _whose(cordon_of(facts, node, done), then[node.node]),
                unplanned=left.get(node.node, ()),
                next_command=then[node.node],
            )
            for node in nodes
        )
    return found


_AWAY = (NodeState.DRAINING, NodeState.READY)


def _pending(seen: CurrentState) -> frozenset[str]:
    """Nodes about which the next pass would write something."""
    changed = {item.facts.node for item in seen.steps.events if isinstance(item, NodeChanged)}
    effects = seen.steps.effects
    return frozenset(
        changed | {item.node for item in effects if isinstance(item, LabelNode | SetUnschedulable)}
    )


def _done(seen: CurrentState, occurrence: OccurrenceId) -> str:
    """What says that a node of it is back: Uncordoned, Rebooted or Command."""
    for item in seen.approvals.approved:
        if item.id == occurrence.drain and item.terms.maintenance is not None:
            return item.terms.maintenance.done
    cluster = seen.base.revision.cluster
    begun = window_as_merged(seen.ledger, cluster=cluster, occurrence=occurrence)
    return begun.done if begun is not None else ""


def _whose(cordon: str, then: str) -> str:
    """What releases a cordon, unless that is the command that a person types next."""
    return cordon.partition(",")[0] if then else cordon


def cordon_of(facts: ClusterFacts, node: NodeRecord, done: str) -> str:
    """Whose cordon it is, and what releases it. gitbot undoes its own alone."""
    if not at(facts.nodes.get(node.node, {}), "spec", "unschedulable"):
        return "not cordoned"
    if not node.cordoned_by_gitbot:
        return "cordoned by somebody else"
    if node.state is NodeState.RETURNED:
        return "cordoned by gitbot, which uncordons it as soon as it is Ready"
    until = {
        "Rebooted": "which uncordons it when it is Ready after a reboot",
        "Command": f"which uncordons it after: gitbot returned {node.node}",
    }
    person = f"until a person types: kubectl uncordon {node.node}"
    return f"cordoned by gitbot, {until.get(done, person)}"


def _next(node: NodeRecord, done: str, due: Away | None) -> str:
    """What a person types about a node that is empty or back."""
    match node.state:
        case NodeState.READY if done == "Command":
            return f"gitbot returned {node.node}"
        case NodeState.READY if done == "Uncordoned":
            return f"kubectl uncordon {node.node}"
        case NodeState.RETURNED if due is not None and not due.pull_request:
            return "gitbot propose"
        case _:
            return ""


def _draining(
    facts: ClusterFacts, node: NodeRecord, left: tuple[NamespacedName, ...], apply: str
) -> str:
    if node.state is not NodeState.DRAINING:
        return ""
    if left:
        return f"gitbot explain vm/{left[0].name} -n {left[0].namespace}"
    empty = node.node in facts.nodes and not facts.instances_on(node.node)
    return f"kubectl cordon {node.node}" if empty else apply


def _unplanned(
    seen: CurrentState,
    facts: ClusterFacts,
    records: Mapping[RequestId, RequestRecord],
    occurrence: OccurrenceId,
    nodes: tuple[NodeRecord, ...],
) -> dict[str, tuple[NamespacedName, ...]]:
    request = occurrence.drain
    moves = records[request].moves.values() if request in records else ()
    known = {move.vm for move in moves if not move.final}
    for item in seen.approvals.approved:
        if item.id == request and item.terms.maintenance is not None:
            known |= item.terms.maintenance.stays
    found: dict[str, tuple[NamespacedName, ...]] = {}
    for node in nodes:
        left = tuple(vm for vm in facts.instances_on(node.node) if vm not in known)
        if node.state is NodeState.DRAINING and left:
            found[node.node] = left
    return found
