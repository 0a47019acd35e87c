"""A node's states during maintenance: waiting, draining, ready, returned."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitbot.execution.facts import ClusterFacts, boot_id, is_ready
from gitbot.execution.requests import RequestRecord
from gitbot.execution.state import NodeRecord, fold_homes, fold_nodes
from gitbot.execution.values import (
    Approved,
    Effect,
    LabelNode,
    Maintenance,
    SetUnschedulable,
    View,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, labels_of
from gitbot.model.effect import label_value
from gitbot.model.events import (
    HomeNoted,
    KnownEvent,
    NodeChanged,
    NodeEvent,
    NodeFacts,
    NodeState,
    WindowBegun,
    WindowTerms,
)
from gitbot.model.ledger import node_file

WINDOW_LABEL = "placement.gitbot.dev/window"
STATE_LABEL = "placement.gitbot.dev/state"
BUSY = frozenset({NodeState.DRAINING, NodeState.READY})


def nodes_of(view: View, maintenance: Maintenance) -> dict[str, NodeRecord]:
    """Every node of the occurrence with its state, in the order of draining."""
    known = fold_nodes(view.ledger, cluster=view.cluster, occurrence=maintenance.occurrence)
    names = dict.fromkeys([*maintenance.nodes, *known])  # earlier plans of it had nodes, too
    return {node: known.get(node, NodeRecord(node=node)) for node in names}


def may_begin(nodes: Mapping[str, NodeRecord], node: str, most: int) -> str:
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
    before: Collection[KnownEvent] = (),
) -> tuple[NodeEvent, ...]:
    """The events that begin the draining of a node; `effects_due` does the rest.

    `before` are events of this pass that are written before them.
    """
    maintenance = _must(approved)
    found = facts.nodes.get(node, {})
    cordons = maintenance.cordon and not at(found, "spec", "unschedulable")
    facts_now = NodeFacts(node=node, boot_id=boot_id(found), cordoned=cordons)
    file = node_file(view.cluster, maintenance.occurrence)
    known = view.ledger.of(file) or any(event.file == file for event in before)
    first = () if known else (_window_begun(view, approved, file),)
    return (*first, _changed(view, maintenance, NodeState.DRAINING, facts_now))


def home_event(view: View, approved: Approved, vm: NamespacedName, node: str) -> HomeNoted | None:
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return None
    homes = fold_homes(view.ledger, cluster=view.cluster, occurrence=maintenance.occurrence)
    if vm in homes:
        return None
    return HomeNoted(
        file=node_file(view.cluster, maintenance.occurrence),
        time=view.now,
        cluster=view.cluster,
        request=approved.id,
        vm=str(vm),
        source=node,
    )


def advance(
    view: View, facts: ClusterFacts, approved: Approved, record: RequestRecord
) -> tuple[NodeEvent, ...]:
    maintenance = _must(approved)
    events: list[NodeEvent] = []
    nodes = nodes_of(view, maintenance)
    for name, node in nodes.items():
        state = _next_state(facts, approved, record, node)
        if state is not None:
            undone = False if state is NodeState.RETURNED else None
            now = NodeFacts(node=name, cordoned=undone)
            events.append(_changed(view, maintenance, state, now))
            nodes[name] = NodeRecord(node=name, state=state)
    for name in maintenance.nodes:
        waits = nodes[name].state is NodeState.WAITING
        idle = waits and _begins_without_moves(view, facts, approved, record, name)
        if idle and not may_begin(nodes, name, maintenance.max_nodes_at_once):
            events += begin(view, facts, approved, name, before=events)
            nodes[name] = NodeRecord(node=name, state=NodeState.DRAINING)
    return tuple(events)


def effects_due(view: View, facts: ClusterFacts, approved: Approved) -> tuple[Effect, ...]:
    """Cordons and labels that the nodes lack for their state. States decide, not events."""
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
    """True: cordon, False: uncordon, None: leave it to others."""
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
        case NodeState.RETURNED:  # a person reported it; gitbot must still remove its own cordon
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
    in_flight = any(
        move.in_flight for move in record.moves.values() if node.node in (move.source, move.to)
    )
    return not in_flight and set(facts.instances_on(node.node)) <= maintenance.stays


def _changed(
    view: View, maintenance: Maintenance, state: NodeState, facts: NodeFacts
) -> NodeChanged:
    return NodeChanged(
        file=node_file(view.cluster, maintenance.occurrence),
        time=view.now,
        cluster=view.cluster,
        state=state,
        request=maintenance.occurrence.drain,
        facts=facts,
    )


def _window_begun(view: View, approved: Approved, file: str) -> WindowBegun:
    maintenance = _must(approved)
    return WindowBegun(
        file=file,
        time=view.now,
        cluster=view.cluster,
        request=approved.id,
        terms=WindowTerms(
            allowed=tuple((span.start, span.end) for span in approved.terms.allowed),
            nodes=maintenance.nodes,
            max_nodes_at_once=maintenance.max_nodes_at_once,
            cordon=maintenance.cordon,
            done=maintenance.done,
            leave_running=bool(maintenance.stays),
            return_home=maintenance.return_home,
            finish=approved.terms.finish,
        ),
    )


def _label(maintenance: Maintenance, node: str, state: NodeState) -> LabelNode:
    if state not in BUSY:
        return LabelNode(node=node, labels={WINDOW_LABEL: None, STATE_LABEL: None})
    labels: dict[str, str | None] = {
        WINDOW_LABEL: label_value(maintenance.occurrence.window),
        STATE_LABEL: str(state),
    }
    return LabelNode(node=node, labels=labels)


def _must(approved: Approved) -> Maintenance:
    assert approved.terms.maintenance is not None, "BUG: no maintenance"
    return approved.terms.maintenance
