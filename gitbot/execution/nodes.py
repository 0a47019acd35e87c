"""A node's way through a maintenance: waiting, draining, ready, returned."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitbot.execution.facts import ClusterFacts, boot_id, is_ready
from gitbot.execution.requests import RequestRecord
from gitbot.execution.state import NodeRecord, NodeState, fold_homes, fold_nodes
from gitbot.execution.values import (
    Approved,
    Effect,
    LabelNode,
    Maintenance,
    SetUnschedulable,
    View,
)
from gitbot.model.effect import label_value
from gitbot.model.ledger import Entry, node_file
from gitbot.model.names import NamespacedName
from gitbot.model.objects import at, labels_of

WINDOW_LABEL = "placement.gitbot.dev/window"
STATE_LABEL = "placement.gitbot.dev/state"
BUSY = frozenset({NodeState.DRAINING, NodeState.READY})


def nodes_of(view: View, maintenance: Maintenance) -> dict[str, NodeRecord]:
    """Every node of the occurrence with its state, in the order of draining."""
    known = fold_nodes(
        view.ledger,
        cluster=view.cluster,
        window=maintenance.window,
        occurrence=maintenance.occurrence,
    )
    names = dict.fromkeys([*maintenance.nodes, *known])  # earlier plans of it had nodes, too
    return {node: known.get(node, NodeRecord(node=node)) for node in names}


def may_begin(nodes: Mapping[str, NodeRecord], node: str, most: int) -> str:
    """Why a node may not be drained yet, "" where it may (or is being drained)."""
    record = nodes.get(node, NodeRecord(node=node))
    if record.state in BUSY:
        return ""
    if record.state is not NodeState.WAITING:
        return f"{node} is {record.state}"
    busy = [name for name, other in nodes.items() if other.state in BUSY]
    if len(busy) >= most:
        return f"{', '.join(busy)} must return first (maxNodesAtOnce {most})"
    return ""


def begin(
    view: View,
    facts: ClusterFacts,
    approved: Approved,
    node: str,
    *,
    before: Collection[Entry] = (),
) -> tuple[Entry, ...]:
    """The lines by which the draining of a node begins; `effects_due` does the rest.

    `before` are lines that this look writes before them.
    """
    maintenance = _must(approved)
    found = facts.nodes.get(node, {})
    cordons = maintenance.cordon and not at(found, "spec", "unschedulable")
    data = {"bootID": boot_id(found), "cordoned": cordons}
    file = node_file(view.cluster, maintenance.window, maintenance.occurrence)
    known = view.ledger.of(file) or any(entry.file == file for entry in before)
    first = () if known else (_window_entry(view, approved, file),)
    return (*first, node_entry(view, maintenance, node, NodeState.DRAINING, data=data))


def home_entry(view: View, approved: Approved, vm: NamespacedName, node: str) -> Entry | None:
    """The line that remembers a VM's home at its first move; None where it is known."""
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return None
    window, occurrence = maintenance.window, maintenance.occurrence
    homes = fold_homes(view.ledger, cluster=view.cluster, window=window, occurrence=occurrence)
    if vm in homes:
        return None
    return Entry(
        file=node_file(view.cluster, window, occurrence),
        time=view.now,
        cluster=view.cluster,
        state="home",
        request=approved.id,
        vm=str(vm),
        source=node,
    )


def advance(
    view: View, facts: ClusterFacts, approved: Approved, record: RequestRecord
) -> tuple[Entry, ...]:
    """The lines that follow from what the nodes are now."""
    maintenance = _must(approved)
    entries: list[Entry] = []
    nodes = nodes_of(view, maintenance)
    for name, node in nodes.items():
        state = _next_state(facts, approved, record, node)
        if state is not None:
            data = {"cordoned": False} if state is NodeState.RETURNED else None
            entries.append(node_entry(view, maintenance, name, state, data=data))
            nodes[name] = NodeRecord(node=name, state=state)
    for name in maintenance.nodes:
        waits = nodes[name].state is NodeState.WAITING
        idle = waits and _begins_without_moves(view, facts, approved, record, name)
        if idle and not may_begin(nodes, name, maintenance.max_nodes_at_once):
            entries += begin(view, facts, approved, name, before=entries)
            nodes[name] = NodeRecord(node=name, state=NodeState.DRAINING)
    return tuple(entries)


def effects_due(view: View, facts: ClusterFacts, approved: Approved) -> tuple[Effect, ...]:
    """Cordons and labels that the nodes lack for their state: decided by state, not by event."""
    maintenance = _must(approved)
    effects: list[Effect] = []
    for name, node in nodes_of(view, maintenance).items():
        found = facts.nodes.get(name)
        if found is None or node.state is NodeState.WAITING:
            continue
        wanted = _cordon_wanted(facts, maintenance, node)
        if wanted is not None and wanted != bool(at(found, "spec", "unschedulable")):
            effects.append(SetUnschedulable(request=approved.id, node=name, unschedulable=wanted))
        label = _label(maintenance, name, node.state)
        if any(labels_of(found).get(key) != value for key, value in label.labels.items()):
            effects.append(label)
    return tuple(effects)


def _cordon_wanted(facts: ClusterFacts, maintenance: Maintenance, node: NodeRecord) -> bool | None:
    """True: cordon, False: uncordon, None: not gitbot's business now."""
    if not node.cordoned_by_gitbot:
        return None
    if node.state is NodeState.DRAINING:
        return True
    back = node.state is NodeState.RETURNED and is_ready(facts.nodes[node.node])
    if maintenance.done != "Uncordoned" and (back or is_back(facts, maintenance, node)):
        return False
    return None


def _begins_without_moves(
    view: View, facts: ClusterFacts, approved: Approved, record: RequestRecord, node: str
) -> bool:
    maintenance = _must(approved)
    is_open = any(span.contains(view.now) for span in approved.terms.allowed)
    mine = [move for move in record.moves.values() if move.source == node and not move.final]
    empty = set(facts.instances_on(node)) <= maintenance.stays
    stopped = bool(view.stop or approved.terms.void or record.cancelled)
    return is_open and not mine and empty and not stopped


def _next_state(
    facts: ClusterFacts, approved: Approved, record: RequestRecord, node: NodeRecord
) -> NodeState | None:
    maintenance = _must(approved)
    found = facts.nodes.get(node.node)
    if found is None:
        return None
    match node.state:
        case NodeState.DRAINING:
            out = bool(at(found, "spec", "unschedulable"))
            return NodeState.READY if out and _is_empty(facts, approved, record, node) else None
        case NodeState.READY:
            back = is_back(facts, maintenance, node) and facts.schedulable(node.node)
            return NodeState.RETURNED if back else None
        case NodeState.RETURNED:  # said by a person; gitbot's own cordon is still to be undone
            undone = node.cordoned_by_gitbot and facts.schedulable(node.node)
            return NodeState.RETURNED if undone else None
        case _:
            return None


def is_back(facts: ClusterFacts, maintenance: Maintenance, node: NodeRecord) -> bool:
    """Whether `done` holds for a node that was ready for its maintenance."""
    found = facts.nodes[node.node]
    if maintenance.done == "Uncordoned":
        return facts.schedulable(node.node)
    if maintenance.done == "Rebooted":
        rebooted = boot_id(found) not in ("", node.boot_id)
        schedulable = node.cordoned_by_gitbot or facts.schedulable(node.node)
        return is_ready(found) and rebooted and schedulable
    return False  # Command: a person says so with `gitbot returned`


def _is_empty(
    facts: ClusterFacts, approved: Approved, record: RequestRecord, node: NodeRecord
) -> bool:
    maintenance = _must(approved)
    under_way = any(
        move.under_way for move in record.moves.values() if node.node in (move.source, move.to)
    )
    return not under_way and set(facts.instances_on(node.node)) <= maintenance.stays


def node_entry(
    view: View,
    maintenance: Maintenance,
    node: str,
    state: NodeState,
    *,
    data: Mapping[str, object] | None = None,
) -> Entry:
    """A line of the nodes file."""
    return Entry(
        file=node_file(view.cluster, maintenance.window, maintenance.occurrence),
        time=view.now,
        cluster=view.cluster,
        state=str(state),
        request=f"drain/{maintenance.window}/{maintenance.occurrence}",
        data={"node": node, **(data or {})},
    )


def _window_entry(view: View, approved: Approved, file: str) -> Entry:
    maintenance = _must(approved)
    return Entry(
        file=file,
        time=view.now,
        cluster=view.cluster,
        state="window",
        request=approved.id,
        data={
            "allowed": [[span.start, span.end] for span in approved.terms.allowed],
            "nodes": list(maintenance.nodes),
            "maxNodesAtOnce": maintenance.max_nodes_at_once,
            "cordon": maintenance.cordon,
            "done": maintenance.done,
            "leaveRunning": bool(maintenance.stays),
            "returnHome": maintenance.return_home,
            "finish": approved.terms.finish,
        },
    )


def _label(maintenance: Maintenance, node: str, state: NodeState) -> LabelNode:
    if state not in BUSY:
        return LabelNode(node=node, labels={WINDOW_LABEL: None, STATE_LABEL: None})
    labels: dict[str, str | None] = {
        WINDOW_LABEL: label_value(maintenance.window),
        STATE_LABEL: str(state),
    }
    return LabelNode(node=node, labels=labels)


def _must(approved: Approved) -> Maintenance:
    assert approved.terms.maintenance is not None, "BUG: no maintenance"
    return approved.terms.maintenance
